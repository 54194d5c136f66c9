package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/tool/js"
)

// runInit runs parley with args and returns the exit code and what was printed.
func runInit(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// initTree lists all files and folders below dir, with sizes.
func initTree(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = info.Size()
		if d.IsDir() {
			out[rel] = -1
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func initNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for name := range initTree(t, dir) {
		out[name] = true
	}
	return out
}

func TestInit_WritesAFolderThatPassesCheck(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "my bot")
	code, out, errOut := runInit(t, "init", dir)
	if code != exitOK || errOut != "" {
		t.Fatalf("init: %d %q", code, errOut)
	}
	want := map[string]bool{"parley.yaml": true, "tools.ts": true, "model.yaml": true, "parley.d.ts": true, "parley.schema.json": true}
	if diff := cmp.Diff(want, initNames(t, dir)); diff != "" {
		t.Error(diff)
	}
	types, err := os.ReadFile(filepath.Join(dir, "parley.d.ts"))
	if err != nil || string(types) != js.TypesFile {
		t.Errorf("parley.d.ts isn't the types of this build: %v", err)
	}
	for _, s := range []string{"wrote " + filepath.Join(dir, "tools.ts"), "cd '" + dir + "'", "parley check", "parley serve"} {
		if !strings.Contains(out, s) {
			t.Errorf("output %q, want %q in it", out, s)
		}
	}
	code, out, errOut = runInit(t, "check", "-c", filepath.Join(dir, "parley.yaml"))
	if code != exitOK || strings.Contains(out, "advice") || !strings.Contains(out, "ok, 1 channel, 2 tools, 1 model"+"\n") {
		t.Errorf("check: %d %q %q", code, out, errOut)
	}
}

func TestInit_RefusesToOverwrite(t *testing.T) {
	t.Parallel()
	for _, there := range [][]string{{"tools.ts"}, {"parley.d.ts", "model.yaml"}, {"parley.yaml", "tools.ts", "model.yaml", "parley.d.ts"}} {
		dir := t.TempDir()
		for _, name := range there {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := initTree(t, dir)
		code, out, errOut := runInit(t, "init", dir)
		if code != exitUsage || out != "" {
			t.Errorf("%v: exit %d, output %q, want %d and nothing", there, code, out, exitUsage)
		}
		for _, name := range []string{"parley.yaml", "tools.ts", "model.yaml", "parley.d.ts"} {
			_, exists := before[name]
			if strings.Contains(errOut, filepath.Join(dir, name)) != exists {
				t.Errorf("%v: %q, is %s in it? want %v", there, errOut, name, exists)
			}
		}
		if diff := cmp.Diff(before, initTree(t, dir)); diff != "" {
			t.Errorf("%v: the folder changed: %s", there, diff)
		}
	}
}

func TestInit_KeepsADanglingLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "model.yaml")); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := runInit(t, "init", dir); code != exitUsage || !strings.Contains(errOut, "model.yaml") {
		t.Errorf("exit %d, %q", code, errOut)
	}
	if diff := cmp.Diff(map[string]bool{"model.yaml": true}, initNames(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestInit_WrongUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "a", "b"}, {"init", "--force"}, {"init", file}, {"init", filepath.Join(file, "below")}} {
		if code, _, errOut := runInit(t, args...); code != exitUsage || !strings.HasPrefix(errOut, "parley: ") {
			t.Errorf("%v: exit %d, %q, want %d", args, code, errOut, exitUsage)
		}
	}
	if diff := cmp.Diff(map[string]int64{"file": 0}, initTree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A file that can't be written takes the others, and the folders, with it.
func TestWriteNew_LeavesNoHalfOfIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := writeNew(filepath.Join(dir, "a", "b"), []newFile{{"one", []byte("1")}, {"none/such", []byte("2")}})
	if err == nil {
		t.Fatal("a file in a folder that isn't there was written")
	}
	if got := initTree(t, dir); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"mybot": "mybot", "../a/b_c-1.2": "../a/b_c-1.2", "my bot": "'my bot'", "-x": "./-x", "it's": `'it'\''s'`, "$(x)": "'$(x)'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
