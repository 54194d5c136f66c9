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

// What is wrong in the configuration is told together with what is wrong in the
// scripts that it names, as check tells it.
func TestServe_TellsAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	for name, text := range map[string]string{
		path:                             "model: {provider: script, script: model.yaml}\ntools: {scripts: [tools.ts]}\nloop: {max_stesp: 1}\nchannels: {web: {kind: webchat}}\n",
		filepath.Join(dir, "model.yaml"): "rules: [{sya: hello}]\n",
		filepath.Join(dir, "tools.ts"):   "export const tools = { a: { describe: 'd', handler: () => 1 } }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told [2]string
	for i, command := range []string{"serve", "check"} {
		code, out, errOut := runInit(t, command, "-c", path)
		if code != exitUsage || out != "" {
			t.Errorf("%s: exit %d, %q", command, code, out)
		}
		told[i] = errOut
	}
	for _, want := range []string{"max_stesp", "sya", "describe"} {
		if !strings.Contains(told[0], want) {
			t.Errorf("%s isn't told: %s", want, told[0])
		}
	}
	if told[0] != told[1] {
		t.Errorf("serve tells\n%s\ncheck tells\n%s", told[0], told[1])
	}
}
