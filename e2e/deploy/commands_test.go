//go:build linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cannotRun are commands of the documents that a test can't run, by how they
// begin, with the reason.
func cannotRun() map[string]string {
	return map[string]string{
		"go run ./cmd/parley":       "compiles once more; the binary is run in daemon_test.go, and chat in e2e/terminal",
		"make ":                     "would run this test again, or build what is built here",
		"parley serve":              "goes on until it is told to end: daemon_test.go, and e2e/platforms from an empty folder",
		"OPENAI_API_KEY=sk-… ":      "as parley serve",
		"curl -X POST -H":           "needs a daemon with an admin token: tested in internal/app",
		"sqlite3 ":                  "a program that needn't be installed",
		"parley webhooks list":      "calls the platforms: tested against their fakes in internal/app",
		"parley webhooks register":  "as above",
		"parley webhooks delete":    "as above",
	}
}

// The commands of the documents run as they stand, each block in a folder of
// its own.
func TestDocs_CommandsRun(t *testing.T) {
	t.Parallel()
	bin := build(t)
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	reasons, used, ran := cannotRun(), map[string]bool{}, 0
	for _, name := range []string{"README.md", "docs/getting-started.md", "docs/operations.md", "docs/telegram.md"} {
		for _, m := range block.FindAllStringSubmatch(read(t, filepath.FromSlash(name)), -1) {
			var run []string
			for line := range strings.Lines(m[1]) {
				line = strings.TrimSpace(line)
				left := ""
				for start := range reasons {
					if strings.HasPrefix(line, start) {
						left = start
					}
				}
				if left != "" {
					used[left] = true
				} else if line != "" {
					run = append(run, line)
				}
			}
			if len(run) == 0 {
				continue
			}
			ran += len(run)
			cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", strings.Join(run, "\n"))
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, strings.Join(run, "\n"), out)
			}
		}
	}
	if ran < 8 {
		t.Errorf("%d commands ran, some must have been missed", ran)
	}
	for start, why := range reasons {
		if !used[start] {
			t.Errorf("no document has %q any more (%s)", start, why)
		}
	}
}
