package whatsappweb

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"go.mau.fi/whatsmeow/store"
)

// plain is a buffer that looks a message up and decrypts it like the SDK's.
type plain struct {
	store.EventBuffer
	mu   sync.Mutex
	kept map[[32]byte][]byte
}

func (p *plain) GetBufferedEvent(_ context.Context, hash [32]byte) (*store.BufferedEvent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, ok := p.kept[hash]; ok {
		return &store.BufferedEvent{Plaintext: text}, nil
	}
	return nil, nil
}

func (p *plain) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	return fn(ctx)
}

// A message that comes again over a new connection while the one before is
// still decrypting it is found there, and not decrypted with a used-up key.
func TestBuffer_G1_TheSameMessageOverTwoConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &plain{kept: map[[32]byte][]byte{}}
		b := buffer{inner, make(chan struct{}, 1)}
		hash := [32]byte{1}
		handle := func(decrypt func() error) (*store.BufferedEvent, error) {
			e, err := b.GetBufferedEvent(t.Context(), hash)
			if e != nil || err != nil {
				return e, err
			}
			return nil, b.DoDecryptionTxn(t.Context(), func(context.Context) error { return decrypt() })
		}
		under, decrypted := make(chan struct{}), make(chan struct{})
		go func() {
			_, err := handle(func() error {
				close(under)
				<-decrypted
				inner.mu.Lock()
				defer inner.mu.Unlock()
				inner.kept[hash] = []byte("hello")
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
		<-under
		again := make(chan *store.BufferedEvent, 1)
		go func() {
			e, err := handle(func() error { return errors.New("received message with old counter") })
			if err != nil {
				t.Error(err)
			}
			again <- e
		}()
		synctest.Wait() // the second waits for the first
		close(decrypted)
		if e := <-again; e == nil || string(e.Plaintext) != "hello" {
			t.Errorf("got %+v", e)
		}
	})
}
