package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExport_I14_Command(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	text := "store: {url: 'sqlite://" + filepath.Join(dir, "parley.db") + "'}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n"
	for name, text := range map[string]string{path: text, filepath.Join(dir, "model.yaml"): "rules: [{say: good morning}]\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"chat", "-c", path}, strings.NewReader("hello\n"), &out, &errOut); code != exitOK {
		t.Fatal(errOut.String())
	}
	code, said, wrong := runInit(t, "export", "-c", path, "console:console")
	if code != exitOK || wrong != "" {
		t.Errorf("exit %d: %s", code, wrong)
	}
	var log []string
	for line := range strings.Lines(said) {
		var l struct{ Kind, Author, Text string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l.Kind == "log" {
			log = append(log, l.Author+": "+l.Text)
		}
	}
	if got := strings.Join(log, ", "); got != "user: hello, bot: good morning" {
		t.Errorf("log %q in\n%s", got, said)
	}
	code, said, wrong = runInit(t, "export", "-c", path, "console:nobody")
	if code != exitFailure || said != "" || !strings.Contains(wrong, `no such chat is known: "console:nobody" (parley chats`) {
		t.Errorf("exit %d, %q, %q", code, said, wrong)
	}
	if code, _, wrong := runInit(t, "export", "-c", path); code != exitUsage {
		t.Errorf("without a chat: exit %d, %q", code, wrong)
	}
}
