package audit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/secret"
)

func rows(events ...string) []Row {
	var out []Row
	for i, e := range events {
		out = append(out, Row{ID: int64(i + 1), Event: json.RawMessage(e)})
	}
	return out
}

func write(t *testing.T, s Sink, events ...string) {
	t.Helper()
	if err := s.Write(t.Context(), rows(events...)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFile_D2(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "audit.jsonl")
	s := NewFile(path)
	write(t, s, `{"type":"a"}`, "{\n  \"type\": \"b\"\n}")
	write(t, s, `{"type":"c"}`, `broken "`)
	want := `{"type":"a"}` + "\n" + `{"type":"b"}` + "\n" + `{"type":"c"}` + "\n" + `{"type":"audit.unreadable","raw":"broken \""}` + "\n"
	if got := read(t, path); got != want {
		t.Errorf("got %s", got)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	write(t, s, `{"type":"d"}`)
	if got := read(t, path); got != want+`{"type":"d"}`+"\n" {
		t.Errorf("after close: %s", got)
	}
}

func TestFile_Rotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := NewFile(path)
	defer s.Close()
	write(t, s, `1`)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, s, `2`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, s, `3`)
	// copytruncate
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, s, `4`)
	if old, now := read(t, path+".1"), read(t, path); old != "1\n" || now != "4\n" {
		t.Errorf("%q %q", old, now)
	}
}

func TestFile_HalfALine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte("{\"type\":\"a\"}\n{\"ty"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewFile(path)
	defer s.Close()
	write(t, s, `{"type":"b"}`)
	if got := read(t, path); got != "{\"type\":\"a\"}\n{\"ty\n{\"type\":\"b\"}\n" {
		t.Errorf("got %q", got)
	}
}

func TestFile_CantWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, "/dev/full", filepath.Join(dir, "x", "y")} {
		if strings.HasSuffix(path, "y") {
			if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := NewFile(path).Write(t.Context(), rows(`1`)); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

// receiver is an endpoint that answers what it is told.
type receiver struct {
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
	answer func(w http.ResponseWriter)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || req.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.heads = append(r.bodies, string(body)), append(r.heads, req.Header)
	if r.answer != nil {
		r.answer(w)
	}
}

func TestWebhook_D2_SignedBatch(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	srv := httptest.NewServer(r)
	defer srv.Close()
	s := NewWebhook(srv.URL, secret.New("canary"), nil)
	defer s.Close()
	write(t, s, `{"type":"a"}`, "{\n\"type\": \"b\"}")
	want := `{"events":[{"type":"a"},{"type":"b"}]}`
	if len(r.bodies) != 1 || r.bodies[0] != want {
		t.Fatalf("got %v", r.bodies)
	}
	mac := hmac.New(sha256.New, []byte("canary"))
	mac.Write([]byte(want))
	if got := r.heads[0].Get("X-Parley-Signature"); got != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("signature %s", got)
	}
	if r.heads[0].Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", r.heads[0])
	}
}

func TestWebhook_BodiesAreBounded(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	srv := httptest.NewServer(r)
	defer srv.Close()
	s := NewWebhook(srv.URL, secret.New("k"), nil)
	defer s.Close()
	big := `"` + strings.Repeat("x", 600<<10) + `"`
	huge := `"` + strings.Repeat("y", 2<<20) + `"`
	write(t, s, big, big, huge, `1`)
	if len(r.bodies) != 4 {
		t.Fatalf("%d bodies", len(r.bodies))
	}
	for _, b := range r.bodies {
		if !json.Valid([]byte(b)) {
			t.Error("no JSON")
		}
	}
}

func TestWebhook_Failures(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"the audit webhook answered 500": func(w http.ResponseWriter) { w.WriteHeader(500) },
		"the audit webhook answered 400": func(w http.ResponseWriter) { w.WriteHeader(400) },
		"the audit webhook answered 302": func(w http.ResponseWriter) { w.Header().Set("Location", "/elsewhere"); w.WriteHeader(302) },
	} {
		srv := httptest.NewServer(&receiver{answer: answer})
		s := NewWebhook(srv.URL+"/?token=canary", secret.New("canary"), nil)
		if err := s.Write(t.Context(), rows(`1`)); err == nil || err.Error() != name {
			t.Errorf("%s: got %v", name, err)
		}
		srv.Close()
		err := s.Write(t.Context(), rows(`1`))
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("a dead receiver: %v", err)
		}
	}
	if err := NewWebhook("http://canary\x7f", secret.New("k"), nil).Write(t.Context(), rows(`1`)); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a bad URL: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewWebhook("http://127.0.0.1:1", secret.New("k"), nil).Write(ctx, rows(`1`)); err == nil {
		t.Error("a cancelled delivery succeeded")
	}
}

func TestWebhook_RetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{"120": 2 * time.Minute, "": 0, "-3": 0, "soon": 0, "999999999": 0} {
		srv := httptest.NewServer(&receiver{answer: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(503)
		}})
		err := NewWebhook(srv.URL, secret.New("k"), nil).Write(t.Context(), rows(`1`))
		srv.Close()
		ra, ok := err.(retryAfter) //nolint:errorlint // it is returned bare
		if !ok || ra.RetryAfter() != want {
			t.Errorf("%q: %v", header, err)
		}
	}
}
