package whatsappcloud

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// people knows which chat somebody is, and how each chat stands.
//
// A person has a phone number (wa_id), or since 2026 a business-scoped user id
// (BSUID) and perhaps no number that the business may see. The chat is named by
// what came first, the number where both came together; the user id is
// remembered in the account's state as another name of that chat, so that
// hiding or showing the number later begins no new one.
type people struct {
	state channels.State
	now   func() time.Time

	mu    sync.Mutex
	names map[string]channels.ChatID
	seen  map[channels.ChatID]sight
}

// sight is the newest message of a chat.
type sight struct {
	id channels.MessageID
	at time.Time
	// closed is true where Meta has said since that the window is closed.
	closed bool
}

// peopleMost bounds what is kept in memory; beyond it half is forgotten.
const peopleMost = 20_000

func newPeople(state channels.State, now func() time.Time) *people {
	return &people{state: state, now: now, names: map[string]channels.ChatID{}, seen: map[channels.ChatID]sight{}}
}

// chat is the chat of a person. One of phone and user may be empty.
func (p *people) chat(ctx context.Context, phone, user string) (channels.ChatID, error) {
	if user == "" {
		return channels.ChatID(phone), nil
	}
	id, err := p.known(ctx, user)
	if err != nil || id != "" {
		return id, err
	}
	id = channels.ChatID(phone)
	if phone == "" {
		id = channels.ChatID(user)
	}
	won, err := p.state.Swap(ctx, stateKey(user), nil, []byte(id))
	switch {
	case err != nil:
		return "", fmt.Errorf("remembering a user id: %w", err)
	case !won: // another replica was faster
		return p.known(ctx, user)
	}
	p.name(user, id)
	return id, nil
}

// known is the chat that the user id names already, or "".
func (p *people) known(ctx context.Context, user string) (channels.ChatID, error) {
	p.mu.Lock()
	id, ok := p.names[user]
	p.mu.Unlock()
	if ok {
		return id, nil
	}
	v, err := p.state.Get(ctx, stateKey(user))
	if err != nil {
		return "", fmt.Errorf("looking up a user id: %w", err)
	}
	if len(v) > 0 {
		p.name(user, channels.ChatID(v))
	}
	return channels.ChatID(v), nil
}

func stateKey(user string) string { return "user:" + user }

func (p *people) name(user string, id channels.ChatID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.names) >= peopleMost {
		clear(p.names)
	}
	p.names[user] = id
}

// saw keeps the newest message of a chat: it opens the window.
func (p *people) saw(chat channels.ChatID, id channels.MessageID, at time.Time) {
	if at.IsZero() {
		at = p.now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.seen[chat]; ok && old.at.After(at) {
		return
	}
	p.forget()
	p.seen[chat] = sight{id: id, at: at}
}

// forget makes room where there is none: first what is past the window goes,
// then anything. p.mu is held.
func (p *people) forget() {
	if len(p.seen) < peopleMost {
		return
	}
	old := p.now().Add(-replyWindow)
	for chat, s := range p.seen {
		if s.at.Before(old) {
			delete(p.seen, chat)
		}
	}
	for chat := range p.seen {
		if len(p.seen) <= peopleMost/2 {
			break
		}
		delete(p.seen, chat)
	}
}

// last is the newest message of the chat, or "".
func (p *people) last(chat channels.ChatID) channels.MessageID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[chat].id
}

// shut notes that Meta takes no free text there any more, as far as the newest
// message goes.
func (p *people) shut(chat channels.ChatID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.seen[chat]
	if !ok {
		s.at = p.now()
		p.forget()
	}
	s.closed = true
	p.seen[chat] = s
}

// closed tells whether the window is certainly closed. A few minutes are left
// for clocks that differ.
func (p *people) closed(chat channels.ChatID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.seen[chat]
	return ok && (s.closed || p.now().Sub(s.at) > replyWindow+5*time.Minute)
}
