//go:build linux

package deploy

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cannotRun are commands of the documents that a test can't run, by how they
// begin, with the reason.
func cannotRun() map[string]string {
	return map[string]string{
		"go run ./cmd/parley":      "compiles once more; the binary is run in daemon_test.go, and chat in e2e/terminal",
		"make ":                    "would run this test again, or build what is built here",
		"parley serve":             "goes on until it is told to end: daemon_test.go, and e2e/platforms from an empty folder",
		"OPENAI_API_KEY=sk-… ":     "as parley serve",
		"curl -X POST -H":          "needs a daemon with an admin token: tested in internal/app",
		"parley forget":            "needs a chat: tested in internal/app",
		"parley senders":           "needs a bot that gave a code: tested in internal/app",
		"parley backup ":           "needs the database of a bot that ran: tested in cmd/parley",
		"parley webhooks list":     "calls the platforms: tested against their fakes in internal/app",
		"parley webhooks register": "as above",
		"parley webhooks delete":   "as above",
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

// The first command of README.md is a bot that answers.
func TestDocs_FirstCommandServes(t *testing.T) {
	t.Parallel()
	first := regexp.MustCompile("(?m)^```sh\n(go run [^#\n]*?) *(?:#.*)?$").FindStringSubmatch(read(t, "README.md"))
	if first == nil {
		t.Fatal("README.md begins with another command")
	}
	began := time.Now()
	words := strings.Fields(first[1])
	// It is told to end below, which may be after the test's context.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), words[0], words[1:]...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PARLEY_SERVER_LISTEN=127.0.0.1:0", "PARLEY_STORE_URL=sqlite://"+filepath.Join(t.TempDir(), "parley.db"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run, and what it runs
	errOut, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, listening := "", false
	for s := bufio.NewScanner(errOut); s.Scan(); {
		lines += s.Text() + "\n"
		if strings.Contains(s.Text(), "msg=listening") {
			listening = true
			t.Logf("%s took %v until it listened", first[1], time.Since(began))
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait() // go run ends with 1 whenever it is interrupted
	if !listening || !strings.Contains(lines, "msg=stopping") {
		t.Errorf("%s: %v\n%s", first[1], err, lines)
	}
}
