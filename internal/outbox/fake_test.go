package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore holds chats in memory and checks the outbox's promises: order, one
// entry at a time, nothing ended twice.
type fakeStore struct {
	mu     sync.Mutex
	chats  map[string]*fakeChat
	away   error // every call fails
	noSent error // Sent fails
	calls  map[string]int
	faults []string
	// onNext runs after Next has marked an entry.
	onNext func(Entry)
}

type fakeChat struct {
	channel string
	entries []*fakeEntry
	busy    int64 // the entry that the outbox was given
}

type fakeEntry struct {
	Entry
	state   string // queued, sending, sent, failed
	unknown bool
	due     time.Time
	cause   string
	id      channels.MessageID
}

func newStore() *fakeStore {
	return &fakeStore{chats: make(map[string]*fakeChat), calls: make(map[string]int)}
}

func (s *fakeStore) faultf(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// say queues texts and returns the last one's entry.
func (s *fakeStore) say(channel, chat string, texts ...string) Entry {
	var e Entry
	for _, text := range texts {
		e = s.add(channel, chat, Entry{Kind: Send, Part: channels.Part{Chat: channels.Chat{ID: channels.ChatID(chat)}, Text: text}})
	}
	return e
}

func (s *fakeStore) add(channel, chat string, e Entry) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := channel + ":" + chat
	c := s.chats[key]
	if c == nil {
		c = &fakeChat{channel: channel}
		s.chats[key] = c
	}
	e.ChatKey, e.Channel, e.Seq, e.Created = key, channel, int64(len(c.entries)+1), time.Now()
	c.entries = append(c.entries, &fakeEntry{Entry: e, state: "queued"})
	return e
}

// born is say for an entry that is marked as sending by its own commit.
func (s *fakeStore) born(channel, chat, text string) Entry {
	e := s.say(channel, chat, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.chats[e.ChatKey].entries[e.Seq-1]
	f.state, f.Attempts = "sending", 1
	return f.Entry
}

func (c *fakeChat) head() *fakeEntry {
	for _, e := range c.entries {
		if e.state == "queued" || e.state == "sending" {
			return e
		}
	}
	return nil
}

func (s *fakeStore) Chats(_ context.Context, names []string, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls["chats"]++
	if s.away != nil {
		return nil, s.away
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.chats)) {
		if c := s.chats[key]; key > after && slices.Contains(names, c.channel) && c.head() != nil && len(out) < limit {
			out = append(out, key)
		}
	}
	return out, nil
}

func (s *fakeStore) mark(c *fakeChat) (Entry, bool, time.Time) {
	e := c.head()
	if e == nil {
		return Entry{}, false, time.Time{}
	}
	if e.due.After(time.Now()) {
		return Entry{}, false, e.due
	}
	e.Maybe = e.Maybe || e.state == "sending"
	e.state = "sending"
	e.Attempts++
	c.busy = e.Seq
	return e.Entry, true, time.Time{}
}

func (s *fakeStore) Next(_ context.Context, key string) (Entry, bool, time.Time, error) {
	s.mu.Lock()
	s.calls["next"]++
	c := s.chats[key]
	if s.away != nil || c == nil {
		defer s.mu.Unlock()
		return Entry{}, false, time.Time{}, s.away
	}
	if c.busy != 0 {
		s.faultf("Next of %s while entry %d is being sent", key, c.busy)
	}
	e, ok, due := s.mark(c)
	hook := s.onNext
	s.mu.Unlock()
	if ok && hook != nil {
		hook(e)
	}
	return e, ok, due, nil
}

// ended checks that e is the one that may be ended now.
func (s *fakeStore) ended(e Entry, what string) *fakeEntry {
	c := s.chats[e.ChatKey]
	f := c.entries[e.Seq-1]
	if h := c.head(); h != f || f.state != "sending" {
		s.faultf("%s of %s#%d, which is %s", what, e.ChatKey, e.Seq, f.state)
	}
	c.busy = 0
	return f
}

func (s *fakeStore) Sent(_ context.Context, e Entry, r channels.Receipt) (Entry, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls["sent"]++
	if err := cmpErr(s.away, s.noSent); err != nil {
		return Entry{}, false, err
	}
	f := s.ended(e, "Sent")
	f.state, f.id = "sent", r.ID
	next, ok, _ := s.mark(s.chats[e.ChatKey])
	return next, ok, nil
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *fakeStore) Retry(_ context.Context, e Entry, due time.Time, unknown bool, cause string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls["retry"]++
	if s.away != nil {
		return s.away
	}
	f := s.ended(e, "Retry")
	f.state, f.due, f.cause = "queued", due, cause
	f.Maybe = f.Maybe || unknown
	return nil
}

func (s *fakeStore) Failed(_ context.Context, e Entry, unknown bool, cause string) (Failure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls["failed"]++
	if s.away != nil {
		return Failure{}, s.away
	}
	f := s.ended(e, "Failed")
	f.state, f.unknown, f.cause = "failed", unknown, cause
	out := Failure{More: s.chats[e.ChatKey].head() != nil}
	if strings.HasSuffix(e.Part.Text, "?") && !unknown {
		out.Lane, out.Ready, out.Tool = e.ChatKey, true, "place_order"
	}
	return out, nil
}

func (s *fakeStore) Pending(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls["pending"]++
	return 42, s.away
}

func (s *fakeStore) set(f func(*fakeStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// entry returns a copy of what the store has.
func (s *fakeStore) entry(e Entry) fakeEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.chats[e.ChatKey].entries[e.Seq-1]
}

// left lists entries that didn't get to state, and all faults.
func (s *fakeStore) left(state string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.chats)) {
		for _, e := range s.chats[key].entries {
			if e.state != state {
				out = append(out, fmt.Sprintf("%s#%d is %s: %s", key, e.Seq, e.state, e.cause))
			}
		}
	}
	return append(out, s.faults...)
}

// fakeAdapter records what it was asked to send. It is neither Editor nor
// Typer; those below are.
type fakeAdapter struct {
	caps channels.Capabilities
	// answer decides; nil: all is sent at once.
	answer func(ctx context.Context, p channels.Part) error

	mu    sync.Mutex
	parts []channels.Part
	busy  map[channels.ChatID]bool
	both  []string // chats sent to twice at once
}

func (a *fakeAdapter) Capabilities(channels.Chat) channels.Capabilities { return a.caps }

func (a *fakeAdapter) Run(ctx context.Context, _ channels.Sink) error {
	<-ctx.Done()
	return nil
}

func (a *fakeAdapter) Send(ctx context.Context, p channels.Part) (channels.Receipt, error) {
	a.mu.Lock()
	if a.busy == nil {
		a.busy = make(map[channels.ChatID]bool)
	}
	if a.busy[p.Chat.ID] {
		a.both = append(a.both, string(p.Chat.ID))
	}
	a.busy[p.Chat.ID] = true
	a.parts = append(a.parts, p)
	n := len(a.parts)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.busy[p.Chat.ID] = false
	}()
	if a.answer != nil {
		if err := a.answer(ctx, p); err != nil {
			return channels.Receipt{}, err
		}
	}
	return channels.Receipt{ID: channels.MessageID(fmt.Sprint("m", n))}, nil
}

// texts lists what was sent to a chat ("": to all).
func (a *fakeAdapter) texts(chat channels.ChatID) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, p := range a.parts {
		if chat == "" || p.Chat.ID == chat {
			out = append(out, p.Text)
		}
	}
	return out
}

type fakeEditor struct {
	fakeAdapter
	edit  func(id channels.MessageID, p channels.Part) error
	edits []string
}

func (a *fakeEditor) Edit(_ context.Context, id channels.MessageID, p channels.Part) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.edits = append(a.edits, fmt.Sprintf("%s=%s", id, p.Text))
	if a.edit != nil {
		return a.edit(id, p)
	}
	return nil
}

// start runs an outbox until the test ends.
func start(t *testing.T, cfg Config, s *fakeStore, adapters map[string]channels.Adapter) *Outbox {
	t.Helper()
	return startWith(t, cfg, Deps{Store: s, Adapters: adapters})
}

func startWith(t *testing.T, cfg Config, deps Deps) *Outbox {
	t.Helper()
	o := New(cfg, deps)
	o.Start(t.Context())
	t.Cleanup(func() {
		if err := o.Stop(context.Background()); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return o
}

func sendErr(class channels.SendClass) error {
	return &channels.SendError{Class: class, Err: fmt.Errorf("platform says %s", class)}
}

// records is how many chats are remembered.
func (o *Outbox) records() (n int) {
	for _, a := range o.accounts {
		a.mu.Lock()
		n += len(a.chats)
		a.mu.Unlock()
	}
	return n
}
