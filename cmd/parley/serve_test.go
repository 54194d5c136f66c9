package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A service manager that stops the process before it listens sees an orderly
// end, and the database isn't held by what is left.
func TestServe_StoppedWhileStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	db := filepath.Join(dir, "parley.db")
	text := "server: {listen: '127.0.0.1:0'}\nstore: {url: 'sqlite://" + db + "'}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n"
	for name, text := range map[string]string{path: text, filepath.Join(dir, "model.yaml"): "rules: [{say: hello}]\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for range 2 {
		var out, errOut bytes.Buffer
		if code := run(ctx, []string{"serve", "-c", path}, strings.NewReader(""), &out, &errOut); code != exitOK {
			t.Errorf("exit %d: %s", code, errOut.String())
		}
	}
	// Without the stop, a failure is one.
	if err := os.WriteFile(db, []byte("no database, but long enough to be looked at as one by SQLite, which wants a header of a hundred bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"serve", "-c", path}, strings.NewReader(""), &out, &errOut); code != exitFailure {
		t.Errorf("exit %d with a broken database: %s", code, errOut.String())
	}
}
