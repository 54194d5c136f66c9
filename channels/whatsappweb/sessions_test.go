package whatsappweb

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"go.mau.fi/whatsmeow/store"

	"github.com/parley-bot/parley/channels/channeltest"
)

// kept is a store of sessions that has them all.
type kept struct {
	store.SessionStore

	fail error
}

func (k kept) GetManySessions(context.Context, []string) (map[string][]byte, error) {
	return nil, nil
}
func (k kept) PutManySessions(context.Context, map[string][]byte) error { return k.fail }

// Between the reading and the writing of sessions for a message that is sent
// nothing is decrypted, on whichever connection; what fails gives way, too.
func TestSessions_NothingIsDecryptedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, s sessions, m *sending){
		"sent": func(ctx context.Context, s sessions, m *sending) {
			if err := s.PutManySessions(ctx, map[string][]byte{"a": {1}}); err != nil || !m.sealed {
				panic(err)
			}
		},
		"not to be sent": func(ctx context.Context, s sessions, m *sending) {
			if err := s.PutManySessions(ctx, map[string][]byte{"b": {1}}); !errors.Is(err, errNoKeys) || m.sealed {
				panic(err)
			}
		},
		"failed before": func(_ context.Context, _ sessions, m *sending) { m.release() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				deciding := make(chan struct{}, 1)
				s := sessions{kept{}, deciding}
				b := buffer{&plain{kept: map[[32]byte][]byte{{}: []byte("hello")}}, deciding}
				m := &sending{deciding: deciding, missed: func(all []string) error {
					if len(all) > 0 {
						return errNoKeys
					}
					return nil
				}}
				ctx := context.WithValue(t.Context(), sendingKey{}, m)
				if _, err := s.GetManySessions(ctx, []string{"a"}); err != nil {
					t.Fatal(err)
				}
				read := make(chan error, 1)
				go func() {
					_, err := b.GetBufferedEvent(t.Context(), [32]byte{})
					read <- err
				}()
				synctest.Wait()
				select {
				case <-read:
					t.Error("decrypted while a message was encrypted")
				default:
				}
				end(ctx, s, m)
				m.release() // once more than needed does nothing
				if err := <-read; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Every client that is made has the stores with their fixes, once.
func TestClient_HasTheFixes(t *testing.T) {
	t.Parallel()
	a, err := New(Defaults(), Deps{
		Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "wa",
		Open: func(context.Context) (Store, error) { return nil, nil }, InUse: func(error) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	d := device{&store.Device{}}
	for range 2 {
		a.client(d, nil)
		b, ok := d.EventBuffer.(buffer)
		s, ok2 := d.Sessions.(sessions)
		p, ok3 := d.PrivacyTokens.(tokens)
		if !ok || !ok2 || !ok3 || b.deciding != a.deciding || s.deciding != a.deciding {
			t.Fatalf("made with %T, %T and %T", d.EventBuffer, d.Sessions, d.PrivacyTokens)
		}
		if b.EventBuffer != nil || s.SessionStore != nil || p.PrivacyTokenStore != nil {
			t.Error("wrapped twice")
		}
	}
}
