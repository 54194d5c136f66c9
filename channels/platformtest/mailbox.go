package platformtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Mailbox keeps the messages that a fake of a platform took. The zero value is
// empty.
type Mailbox[M any] struct {
	mu      sync.Mutex
	taken   []M
	changes Changes
}

// Take adds a message.
func (b *Mailbox[M]) Take(m M) {
	b.mu.Lock()
	b.taken = append(b.taken, m)
	b.mu.Unlock()
	b.changes.Signal()
}

// Messages are those that were taken.
func (b *Mailbox[M]) Messages() []M {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.taken)
}

// Await waits until n messages were taken.
func (b *Mailbox[M]) Await(ctx context.Context, n int) (all []M, err error) {
	err = b.changes.Wait(ctx, func() bool {
		all = b.Messages()
		return len(all) >= n
	})
	if err != nil {
		err = fmt.Errorf("message %d: %w", n, err)
	}
	return all, err
}

// HTTPFault is how a call of a fake REST API fails.
type HTTPFault struct {
	Status int
	// Code is the platform's own; 0 sends Body as it is.
	Code       int
	Message    string
	RetryAfter string
	Body       string
	// Drop takes the call and closes the connection without an answer.
	Drop bool
}

// Answer makes the call fail; refuse writes an error as the platform does.
func (f HTTPFault) Answer(w http.ResponseWriter, refuse func(w http.ResponseWriter, status, code int, message string)) {
	if f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.Code != 0 {
		refuse(w, f.Status, f.Code, f.Message)
		return
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body)) // it fails where the caller is gone
}
