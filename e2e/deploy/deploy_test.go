//go:build linux

// Package deploy holds what is in deploy/, and the Dockerfile, to the program:
// that tools take the files (promtool, systemd-analyze), that every metric,
// label, path and port in them exists, and that the alerts fire and stay quiet
// as testdata/alerts_test.yml plays it. It owns no behaviour of the program.
//
// promtool is needed (make setup). systemd-analyze is used where it is
// installed; elsewhere the unit is checked by reading it.
package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"
)

// root is the folder of the repository, seen from here.
const root = "../.."

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decode reads YAML strictly: a key that the type doesn't have is an error, so
// that a test looks at all there is.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	dec, err := yaml.NewLoader(bytes.NewReader([]byte(text)), yaml.WithKnownFields())
	if err == nil {
		err = dec.Load(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// promtool runs Prometheus' own checker, in dir.
func promtool(t *testing.T, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed: make setup, or Prometheus' own release")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader([]byte(stdin))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
