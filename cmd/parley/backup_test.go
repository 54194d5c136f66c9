package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBackup_I14_Command(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, to := filepath.Join(dir, "parley.yaml"), filepath.Join(dir, "copy.db")
	text := "store: {url: 'sqlite://" + filepath.Join(dir, "parley.db") + "'}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n"
	for name, text := range map[string]string{path: text, filepath.Join(dir, "model.yaml"): "rules: [{say: hello}]\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, errOut := runInit(t, "backup", "-c", path, to); code != exitFailure || !strings.Contains(errOut, "has parley been started here?") {
		t.Errorf("without a database: exit %d, %q, %q", code, out, errOut)
	}
	if code, _, errOut := runInit(t, "migrate", "-c", path); code != exitOK {
		t.Fatal(errOut)
	}
	code, out, errOut := runInit(t, "backup", "-c", path, to)
	info, err := os.Stat(to)
	if err != nil {
		t.Fatalf("%v: exit %d, %q", err, code, errOut)
	}
	if want := fmt.Sprintf("%s: %d bytes\n", to, info.Size()); code != exitOK || out != want {
		t.Errorf("exit %d, %q, %q; want %q", code, out, errOut, want)
	}
	if code, _, errOut := runInit(t, "backup", "-c", path, to); code != exitFailure || !strings.Contains(errOut, "copy.db is there already") {
		t.Errorf("over a file: exit %d, %q", code, errOut)
	}
	for _, args := range [][]string{{"backup", "-c", path}, {"backup", "-c", path, ""}, {"backup", "-c", path, "a", "b"}} {
		if code, _, errOut := runInit(t, args...); code != exitUsage {
			t.Errorf("%q: exit %d, %q", args, code, errOut)
		}
	}
}
