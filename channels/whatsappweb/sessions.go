package whatsappweb

import (
	"context"
	"errors"
	"slices"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// sessions is the SDK's store of Signal sessions, with one fix. To send, the SDK
// reads the sessions of all readers, asks the server for keys that it lacks,
// encrypts, and writes the sessions back. What somebody writes meanwhile is
// decrypted with the same session, and that step is then overwritten: from
// there on nothing from them can be read, until their phone begins a session
// anew. Here nothing is decrypted between the two, on any connection of the
// channel.
type sessions struct {
	store.SessionStore

	deciding chan struct{} // as of buffer
}

// sending is a message that is being sent, from the context of its call.
type sending struct {
	deciding chan struct{}
	held     bool
	// readers are the addresses of all devices that it is for; sealed tells
	// whether it was encrypted, and missed judges those that it wasn't for.
	readers []string
	sealed  bool
	missed  func(addresses []string) error
	stop    context.CancelCauseFunc
}

type sendingKey struct{}

func (s *sending) release() {
	if s.held {
		s.held = false
		<-s.deciding
	}
}

// GetManySessions is the first step.
func (s sessions) GetManySessions(ctx context.Context, addresses []string) (map[string][]byte, error) {
	if m, ok := ctx.Value(sendingKey{}).(*sending); ok && !m.held {
		select {
		case m.deciding <- struct{}{}:
			m.held, m.readers = true, addresses
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return s.SessionStore.GetManySessions(ctx, addresses)
}

// PutManySessions is the last, unless something failed: what is written was
// encrypted. An error keeps the message from being sent.
func (s sessions) PutManySessions(ctx context.Context, all map[string][]byte) error {
	m, ok := ctx.Value(sendingKey{}).(*sending)
	if !ok {
		return s.SessionStore.PutManySessions(ctx, all)
	}
	defer m.release()
	var missed []string
	for _, r := range m.readers {
		if all[r] == nil {
			missed = append(missed, r)
		}
	}
	if err := m.missed(missed); err != nil {
		return err
	}
	if err := s.SessionStore.PutManySessions(ctx, all); err != nil {
		return err
	}
	m.sealed = true
	return nil
}

// tokens is the SDK's store of privacy tokens. It looks there after a message to
// a person was encrypted and before it is sent.
type tokens struct{ store.PrivacyTokenStore }

// GetPrivacyToken keeps a message from being sent that is for nobody.
func (t tokens) GetPrivacyToken(ctx context.Context, user types.JID) (*store.PrivacyToken, error) {
	if m, ok := ctx.Value(sendingKey{}).(*sending); ok && !m.sealed {
		m.stop(errNoKeys)
		return nil, errNoKeys
	}
	return t.PrivacyTokenStore.GetPrivacyToken(ctx, user)
}

// errNoKeys is the error of a message that one of its readers couldn't read.
var errNoKeys = errors.New("the keys of somebody's device were not to be had")

// post sends a message. The SDK leaves devices out whose keys it couldn't get,
// such as over a connection that is about to end, and calls that a success.
func (a *Adapter) post(ctx context.Context, cli *whatsmeow.Client, to types.JID, m *waE2E.Message, extra whatsmeow.SendRequestExtra) (whatsmeow.SendResponse, error) {
	person := to.Server != types.GroupServer
	main, own := to.SignalAddress().String(), []string{cli.Store.GetJID().SignalAddress().String(), cli.Store.GetLID().SignalAddress().String()}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &sending{deciding: a.deciding, stop: stop, missed: func(addresses []string) error {
		var err error
		for _, addr := range addresses {
			switch {
			case slices.Contains(own, addr): // this very device is on the SDK's list
			case person && addr == main, a.people.keyless(addr):
				err = errNoKeys
			}
		}
		return err
	}}
	defer s.release()
	resp, err := cli.SendMessage(context.WithValue(ctx, sendingKey{}, s), to, m, extra)
	if errors.Is(context.Cause(ctx), errNoKeys) {
		err = errNoKeys
	}
	return resp, err
}
