//go:build linux

package deploy

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// slimLimit is what the slim binary may weigh, in bytes; README tells its size.
const slimLimit = 32_000_000

// TestSlim makes the slim binary as `make slim` does, weighs and runs it. One
// call of a method by a name that the linker doesn't know, such as those of
// text/template, makes it keep every exported method of the program; that is 5
// MB at once, and is told with the function that does it.
func TestSlim(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "parley-slim")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "slim",
		"-gcflags", "github.com/evanw/esbuild/...=-l", "-ldflags", "-s -w -dumpdep", "-o", bin, "./cmd/parley")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%.4000s", err, out)
	}
	edges, byName := 0, map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() { // FROM -> TO, each with what the linker noted of it
		from, _, ok := strings.Cut(lines.Text(), " -> ")
		if !ok {
			continue
		}
		edges++
		if name, ok := strings.CutSuffix(from, " <ReflectMethod>"); ok && !byName[name] {
			byName[name] = true
			t.Errorf("%s calls methods by name: the linker keeps all of them", name)
		}
	}
	if lines.Err() != nil || edges < 100_000 {
		t.Errorf("%d edges of the linker's graph are read, some must be missing (%v)", edges, lines.Err())
	}
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > slimLimit {
		t.Errorf("the slim binary has %d bytes, %d more than it may; go tool nm -size -sort size of one built without -s -w tells what is heavy",
			info.Size(), info.Size()-slimLimit)
	}
	if info.Size() < slimLimit/4 {
		t.Errorf("the slim binary has %d bytes: is it all there?", info.Size())
	}
	start(t, t.TempDir(), nil, bin).order(t)
	version := exec.CommandContext(t.Context(), bin, "version")
	if out, err := version.CombinedOutput(); err != nil || !strings.Contains(string(out), "slim") || strings.Contains(string(out), "GPL-3.0 (") {
		t.Errorf("parley version: %v\n%s", err, out)
	}
}
