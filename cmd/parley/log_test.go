package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// stopsAt is a stream that stops a program once a text has come.
type stopsAt struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	stop context.CancelFunc
}

func (l *stopsAt) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.buf.Write(p)
	if strings.Contains(l.buf.String(), l.text) {
		l.stop()
	}
	return n, err
}

// With log.format json every line is JSON, from the first on, and durations
// are words.
func TestLog_JSONIsNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	text := "server: {listen: '127.0.0.1:0'}\nlog: {format: json}\nstore: {url: 'sqlite://" + filepath.Join(dir, "parley.db") + "'}\n" +
		"model: {provider: script, script: model.yaml}\n" +
		"channels: {telegram: {token: '1:a', api_url: 'http://127.0.0.1:1'}}\n" // nothing listens there
	for name, text := range map[string]string{path: text, filepath.Join(dir, "model.yaml"): "rules: [{say: hello}]\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	log := &stopsAt{text: `"retry_in"`, stop: stop}
	var out bytes.Buffer
	if code := run(ctx, []string{"serve", "-c", path}, strings.NewReader(""), &out, log); code != exitOK {
		t.Errorf("exit %d", code)
	}
	said := strings.Split(strings.TrimSpace(log.buf.String()), "\n")
	for i, line := range said {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("line %d is no JSON: %s", i+1, line)
		}
		if i == 0 && (entry["msg"] != "starting" || entry["config"] != path) {
			t.Errorf("the first line is %s", line)
		}
		if wait, ok := entry["retry_in"]; ok {
			d, err := time.ParseDuration(wait.(string)) //nolint:forcetypeassert // that is the test
			if err != nil || d <= 0 {
				t.Errorf("retry_in is %v: %v", wait, err)
			}
		}
	}
	if !strings.Contains(log.buf.String(), log.text) {
		t.Errorf("the log has nothing of a wait:\n%s", log.buf.String())
	}
}
