package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linked lists the modules that the program is made of on one system.
func linked(t *testing.T, system string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", system, err)
	}
	return strings.Fields(string(out))
}

// TestNotice holds NOTICE to what is linked: licences oblige to name it.
func TestNotice(t *testing.T) {
	t.Parallel()
	var want []string
	for _, system := range []string{"linux", "darwin", "windows"} {
		want = append(want, linked(t, system)...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	raw, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^  (\S+\.\S+/\S+)(?: \(.*\))?$`).FindAllStringSubmatch(string(raw), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NOTICE differs from the modules that are linked (-linked +NOTICE):\n%s", diff)
	}
}
