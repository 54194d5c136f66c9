//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A hangup, and the API, have the daemon read its configuration again.
func TestServe_ReloadsOnHangupAndByTheAPI(t *testing.T) { //nolint:paralleltest // the signal reaches the whole process
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	write := func(rest string) {
		text := "server: {listen: '127.0.0.1:0', admin_token: t0ken}\nstore: {url: 'sqlite://" + filepath.Join(dir, "parley.db") +
			"'}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n" + rest
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	if err := os.WriteFile(filepath.Join(dir, "model.yaml"), []byte("rules: [{say: hello}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines := newLines()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"serve", "-c", path}, strings.NewReader(""), io.Discard, lines) }()
	addr := lines.after(t, "addr=")

	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	lines.after(t, "configuration read again")

	write("loop: {max_stesp: 1}\n")
	call := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/api/v1/reload", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if code, body := call("t0ken"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "max_stesp") {
		t.Errorf("invalid: %d %s", code, body)
	}
	if code, _ := call("wrong"); code != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", code)
	}
	write("loop: {max_steps: 1}\nlog: {format: json}\n")
	if code, body := call("t0ken"); code != http.StatusOK || !strings.Contains(body, `"needs_restart":["log.format"]`) {
		t.Errorf("valid: %d %s", code, body)
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// lines is a log that can be waited for.
type lines struct{ next chan string }

func newLines() *lines { return &lines{make(chan string, 1000)} }

func (l *lines) Write(p []byte) (int, error) {
	l.next <- string(p)
	return len(p), nil
}

// after waits for what, and returns the word behind it.
func (l *lines) after(t *testing.T, what string) string {
	t.Helper()
	for {
		select {
		case line := <-l.next:
			if _, rest, ok := strings.Cut(line, what); ok {
				word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
				return word
			}
		case <-time.After(30 * time.Second): // patience
			t.Fatal(fmt.Sprint("never logged: ", what))
		}
	}
}
