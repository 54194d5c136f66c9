//go:build unix

package crash

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// backend is the world that tools have effects on.
type backend struct {
	addr string
	// delay is how long an order takes, before and after it is written down:
	// the time in which a crash leaves its outcome unknown.
	delay func() time.Duration

	mu   sync.Mutex
	runs []order
}

// order is one request that had an effect.
type order struct {
	Path     string `json:"-"`
	Key      string `json:"-"` // Idempotency-Key
	Ref      string `json:"ref"`
	Quantity int    `json:"quantity"`
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{}
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	b.addr = srv.Listener.Addr().(*net.TCPAddr).String()
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/menu" {
		_, _ = w.Write([]byte(`"bread"`))
		return
	}
	o := order{Path: r.URL.Path, Key: r.Header.Get("Idempotency-Key")}
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || o.Key == "" {
		http.Error(w, `{"error":"bad order"}`, http.StatusBadRequest)
		return
	}
	b.wait()
	b.mu.Lock()
	b.runs = append(b.runs, o)
	b.mu.Unlock()
	b.wait()
	_ = json.NewEncoder(w).Encode(o)
}

func (b *backend) wait() {
	if b.delay == nil {
		return
	}
	timer := time.NewTimer(b.delay())
	defer timer.Stop()
	<-timer.C
}

// of lists what was done under a reference.
func (b *backend) of(ref string) (out []order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.runs {
		if o.Ref == ref {
			out = append(out, o)
		}
	}
	return out
}

// checkKeys finds an order that was made twice, by key and by reference. What
// is set aside may be asked for again, but only under its own key.
func (b *backend) checkKeys(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	keys, refs := map[string]string{}, map[string]string{}
	for _, o := range b.runs {
		key, seen := refs[o.Path+o.Ref]
		ref, used := keys[o.Key]
		switch {
		case used && ref != o.Path+o.Ref:
			t.Errorf("key %s was used for %s and for %s", o.Key, ref, o.Path+o.Ref)
		case o.Path == "/orders" && (seen || used):
			t.Errorf("order %s was made twice, with keys %s and %s", o.Ref, key, o.Key)
		case seen && key != o.Key:
			t.Errorf("%s %s was asked for with two keys, %s and %s", o.Path, o.Ref, key, o.Key)
		}
		keys[o.Key], refs[o.Path+o.Ref] = o.Path+o.Ref, o.Key
	}
}
