package whatsappweb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"github.com/parley-bot/parley/channels"
)

// people knows which chat somebody is, and where to write to them.
//
// A person has a phone number, a hidden id (LID), or both, and WhatsApp changes
// from one to the other within a chat. The chat is named by what was known when
// the first message came: the number in digits if it was, else "LID@lid". The
// LID never changes, so that it is kept in the account's state as another name
// of that chat: a number that shows up later, or is changed, begins no new one.
// Both are digits; only the server behind the @ tells which is which.
type people struct {
	state channels.State

	mu    sync.Mutex
	names map[string]channels.ChatID // by LID
	seen  map[channels.ChatID]sight
	// locked are the addresses of devices that have no keys to encrypt with.
	locked map[string]bool
}

// sight is the newest message of a chat.
type sight struct {
	addr types.JID // what it was written from
	id   types.MessageID
	from types.JID
	at   time.Time
	// unread are the newest messages that aren't marked as read, of all
	// senders, oldest first.
	unread []unread
}

// unread is a message that isn't marked as read.
type unread struct {
	addr, from types.JID
	id         types.MessageID
}

// unreadMost is how many are kept in memory of a chat.
const unreadMost = 64

// peopleMost bounds what is kept in memory; beyond it all is forgotten.
const peopleMost = 20_000

const (
	lidSuffix   = "@" + types.HiddenUserServer
	groupSuffix = "@" + types.GroupServer
)

func newPeople(state channels.State) *people {
	return &people{state: state, names: map[string]channels.ChatID{}, seen: map[channels.ChatID]sight{}, locked: map[string]bool{}}
}

// both sorts out which of two addresses is the number and which the LID, and
// asks the SDK for the one that is missing.
func both(ctx context.Context, lids store.LIDStore, jid, alt types.JID) (phone, lid types.JID, err error) {
	for _, j := range []types.JID{jid.ToNonAD(), alt.ToNonAD()} {
		switch j.Server {
		case types.DefaultUserServer:
			phone = j
		case types.HiddenUserServer:
			lid = j
		}
	}
	switch {
	case phone.IsEmpty() && !lid.IsEmpty():
		phone, err = lids.GetPNForLID(ctx, lid)
	case lid.IsEmpty() && !phone.IsEmpty():
		lid, err = lids.GetLIDForPN(ctx, phone)
	}
	if err != nil {
		return phone, lid, fmt.Errorf("looking up who a number is: %w", err)
	}
	return phone.ToNonAD(), lid.ToNonAD(), nil
}

// chat is the chat of a person. One of phone and lid may be empty.
func (p *people) chat(ctx context.Context, phone, lid types.JID) (channels.ChatID, error) {
	if lid.IsEmpty() {
		return channels.ChatID(phone.User), nil
	}
	id, err := p.known(ctx, lid.User)
	if err != nil || id != "" {
		return id, err
	}
	id = channels.ChatID(phone.User)
	if phone.IsEmpty() {
		id = channels.ChatID(lid.User + lidSuffix)
	}
	won, err := p.state.Swap(ctx, whoKey(lid.User), nil, []byte(id))
	switch {
	case err != nil:
		return "", fmt.Errorf("remembering who a person is: %w", err)
	case !won:
		return p.known(ctx, lid.User)
	}
	p.name(lid.User, id)
	return id, nil
}

func whoKey(lid string) string { return "who:" + lid }

// known is the chat that the LID names already, or "".
func (p *people) known(ctx context.Context, lid string) (channels.ChatID, error) {
	p.mu.Lock()
	id, ok := p.names[lid]
	p.mu.Unlock()
	if ok {
		return id, nil
	}
	v, err := p.state.Get(ctx, whoKey(lid))
	if err != nil {
		return "", fmt.Errorf("looking up who a person is: %w", err)
	}
	if len(v) > 0 {
		p.name(lid, channels.ChatID(v))
	}
	return channels.ChatID(v), nil
}

func (p *people) name(lid string, id channels.ChatID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.names) >= peopleMost {
		clear(p.names)
	}
	p.names[lid] = id
}

// saw keeps the newest message of a chat.
func (p *people) saw(chat channels.ChatID, s sight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok := p.seen[chat]
	list := append(old.unread, unread{s.addr, s.from, s.id})
	list = list[max(0, len(list)-unreadMost):]
	if ok && old.at.After(s.at) {
		s = old
	}
	if len(p.seen) >= peopleMost {
		clear(p.seen)
	}
	s.unread = list
	p.seen[chat] = s
}

// last is the newest message of a chat since the start.
func (p *people) last(chat channels.ChatID) (sight, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.seen[chat]
	return s, ok
}

// address is where to write to: what the person wrote from last, else what the
// chat's name says.
func (p *people) address(chat channels.ChatID) (types.JID, error) {
	if s, ok := p.last(chat); ok {
		return s.addr, nil
	}
	id := string(chat)
	switch user, ok := strings.CutSuffix(id, lidSuffix); {
	case ok && digits(user):
		return types.NewJID(user, types.HiddenUserServer), nil
	case strings.HasSuffix(id, groupSuffix):
		return types.NewJID(strings.TrimSuffix(id, groupSuffix), types.GroupServer), nil
	case digits(strings.TrimPrefix(id, "+")):
		return types.NewJID(strings.TrimPrefix(id, "+"), types.DefaultUserServer), nil
	}
	return types.JID{}, fmt.Errorf("%q is no WhatsApp chat: a phone number in digits, LID@lid or GROUP@g.us", id)
}

// hidden is where a chat is that is named by a number: at the person's LID. What
// is sent to the number WhatsApp takes, and may deliver to nobody. The SDK does
// this by itself only where it knows that the account has moved to LIDs, and it
// learns that from the history, which isn't fetched here. With ask, WhatsApp is
// asked for a LID that isn't known. A number without one is returned as it is.
func hidden(ctx context.Context, cli *whatsmeow.Client, to types.JID, ask bool) (types.JID, error) {
	if to.Server != types.DefaultUserServer {
		return to, nil
	}
	lid, err := cli.Store.LIDs.GetLIDForPN(ctx, to)
	switch {
	case err != nil:
		return to, &channels.SendError{Class: channels.Temporary, Err: fmt.Errorf("looking up who a number is: %w", err)}
	case !lid.IsEmpty():
		return lid.ToNonAD(), nil
	case !ask:
		return to, nil
	}
	known, err := cli.GetUserInfo(ctx, []types.JID{to})
	if err != nil {
		return to, sendError(err)
	}
	switch who := known[to]; {
	case !who.LID.IsEmpty():
		return who.LID.ToNonAD(), nil
	case len(who.Devices) == 0:
		return to, &channels.SendError{Class: channels.PermanentChat, Err: errors.New("this number isn't on WhatsApp")}
	}
	return to, nil
}

// keyless notes that the keys of a device were not to be had, and tells whether
// that is new. Where it isn't, others shouldn't wait for it: that device asks
// for what it can't read.
func (p *people) keyless(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locked[address] {
		return false
	}
	if len(p.locked) >= peopleMost {
		clear(p.locked)
	}
	p.locked[address] = true
	return true
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

// read returns what isn't marked as read in a chat, and notes that it is.
func (p *people) read(chat channels.ChatID) []unread {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen[chat]
	list := s.unread
	if len(list) > 0 {
		s.unread = nil
		p.seen[chat] = s
	}
	return list
}
