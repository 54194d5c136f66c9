package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/licensecheck"
)

// modules lists the modules that a build is made of, on all systems that there
// are releases for, with their folders.
func modules(t *testing.T, tags string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", tags, "-deps",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
		list, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for line := range strings.Lines(string(list)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				out[path] = dir
			}
		}
	}
	return out
}

// licences are those that the module's own files are under, by SPDX id.
func licences(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		name := strings.ToLower(filepath.Base(f))
		// What a module says of others' code is about modules of their own.
		if !regexp.MustCompile(`^(licen[cs]e|copying|unlicense)`).MatchString(name) || strings.Contains(name, "3rd-party") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			continue // a folder
		}
		for _, m := range licensecheck.Scan(text).Match {
			out = append(out, m.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// headings are NOTICE's, with the SPDX ids that stand for them.
func headings() map[string][]string {
	return map[string][]string{
		"Apache License 2.0":             {"Apache-2.0"},
		"BSD 2-Clause":                   {"BSD-2-Clause"},
		"BSD 3-Clause":                   {"BSD-3-Clause"},
		"ISC":                            {"ISC"},
		"MIT":                            {"MIT", "MIT-0"},
		"Mozilla Public License 2.0":     {"MPL-2.0", "MPL-2.0-no-copyleft-exception"},
		"GNU General Public License 3.0": {"GPL-3.0", "GPL-3.0-only", "GPL-3.0-or-later"},
		"Public domain":                  nil,
	}
}

// notice is NOTICE: each module's heading, and whether only the full build has
// the module.
func notice(t *testing.T) (heading map[string]string, fullOnly map[string]bool) {
	t.Helper()
	raw, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	heading, fullOnly = map[string]string{}, map[string]bool{}
	now := ""
	module := regexp.MustCompile(`^  (\S+\.\S+/\S+)((?: \(.*\))?)$`)
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if _, ok := headings()[line]; ok {
			now = line
		}
		if m := module.FindStringSubmatch(line); m != nil {
			heading[m[1]] = now
			fullOnly[m[1]] = strings.Contains(m[2], "full build")
		}
	}
	return heading, fullOnly
}

// TestNotice holds NOTICE to what is linked into both builds: licences oblige
// to name it.
func TestNotice(t *testing.T) {
	t.Parallel()
	full, slim := modules(t, ""), modules(t, "slim")
	want, got := map[string]bool{}, map[string]bool{}
	for m := range full {
		_, both := slim[m]
		want[m] = !both
	}
	for m := range slim {
		if _, ok := full[m]; !ok {
			t.Errorf("the slim build has %s, the full one hasn't", m)
		}
	}
	heading, fullOnly := notice(t)
	for m := range heading {
		got[m] = fullOnly[m]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NOTICE differs from the modules that are linked, true for those of the full build alone (-linked +NOTICE):\n%s", diff)
	}
}

// TestLicences reads the licence of every module of both builds. The slim one
// is permissive; the full one has one module under the GPL, which is why it is
// distributed under its terms, and two under the MPL. A licence of another
// kind, or at another place, is somebody's decision.
func TestLicences(t *testing.T) {
	t.Parallel()
	permissive := []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"}
	restricted := map[string]string{
		"go.mau.fi/libsignal": "GPL-3.0", "go.mau.fi/whatsmeow": "MPL-2.0", "go.mau.fi/util": "MPL-2.0",
	}
	documentation := map[string]string{"github.com/modelcontextprotocol/go-sdk": "CC-BY-4.0"} // isn't linked
	heading, _ := notice(t)
	for _, build := range []string{"", "slim"} {
		kinds := map[string]int{}
		for m, dir := range modules(t, build) {
			found := licences(t, dir)
			if len(found) == 0 {
				t.Errorf("tags %q: the licence of %s isn't known: read it, and decide", build, m)
			}
			named := headings()[heading[m]]
			ours := false
			for _, id := range found {
				kinds[id]++
				ours = ours || slices.Contains(named, id)
				if slices.Contains(permissive, id) || documentation[m] == id {
					continue
				}
				if want := restricted[m]; build == "slim" || want == "" || !strings.HasPrefix(id, want) {
					t.Errorf("tags %q: %s is under %s, which nobody decided on", build, m, id)
				}
			}
			if !ours {
				t.Errorf("tags %q: %s is under %v, NOTICE has it below %q", build, m, found, heading[m])
			}
		}
		t.Logf("tags %q: %v", build, kinds)
	}
}
