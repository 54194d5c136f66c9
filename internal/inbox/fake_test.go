package inbox

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/locale"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore remembers dedupe keys and answers by script. A message it doesn't
// know is queued.
type fakeStore struct {
	mu         sync.Mutex
	known      map[string]bool
	deliveries []Delivery
	commands   []Command
	langs      map[string]string
	langAsked  int
	failed     []Undelivered
	knocks     []Knock
	letIn      map[channels.UserID]bool
	letInAsked int
	// fail is what becomes of a message that did not arrive.
	fail func(Undelivered) (Accepted, bool)
	// answer replaces what becomes of a new delivery.
	answer func(Delivery) (Accepted, error)
	err    error // of every call
}

func (s *fakeStore) Accept(_ context.Context, d Delivery) (Accepted, error) {
	s.mu.Lock()
	s.deliveries = append(s.deliveries, d)
	answer, err, again := s.answer, s.err, s.known[d.DedupeKey]
	s.mu.Unlock()
	switch {
	case err != nil:
		return Accepted{}, err
	case again:
		return Accepted{Outcome: Duplicate}, nil
	}
	acc := Accepted{Outcome: Queued, Wake: true, Logged: true}
	switch {
	case answer != nil:
		acc, err = answer(d)
	case !d.Routed:
		acc = Accepted{Outcome: Ignored}
	case d.OverRate && d.Refuse:
		err = &channels.RefusedError{Reason: channels.RefusedRate}
	case d.OverRate:
		acc = Accepted{Outcome: OverRate, Logged: true, Speak: len(d.RateNotice) > 0}
	}
	if err == nil {
		s.mu.Lock()
		s.known[d.DedupeKey] = true
		s.mu.Unlock()
	}
	return acc, err
}

func (s *fakeStore) Command(_ context.Context, c Command) (Accepted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, c)
	switch {
	case s.err != nil:
		return Accepted{}, s.err
	case s.known[c.DedupeKey]:
		return Accepted{Outcome: Duplicate}, nil
	}
	s.known[c.DedupeKey] = true
	if c.Action == ActLang {
		s.langs[c.Place.Lane] = c.Lang
	}
	return Accepted{Outcome: Commanded, Speak: true, Logged: true, Cut: c.Action == ActReset, Did: true}, nil
}

func (s *fakeStore) Language(_ context.Context, lane string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.langAsked++
	return s.langs[lane], s.err
}

func (s *fakeStore) LetIn(_ context.Context, _ string, user channels.UserID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letInAsked++
	return s.letIn[user], s.err
}

func (s *fakeStore) Knock(_ context.Context, k Knock) (Accepted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.knocks = append(s.knocks, k)
	return Accepted{Outcome: Told, Speak: true}, s.err
}

func (s *fakeStore) DeliveryFailed(_ context.Context, u Undelivered) (Accepted, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, u)
	if s.err != nil || s.fail == nil {
		return Accepted{}, false, s.err
	}
	acc, known := s.fail(u)
	return acc, known, nil
}

// fakeAdapter has no way to acknowledge; fakeAcker has.
type fakeAdapter struct{ caps channels.Capabilities }

func (a *fakeAdapter) Capabilities(channels.Chat) channels.Capabilities { return a.caps }
func (a *fakeAdapter) Run(context.Context, channels.Sink) error         { return nil }
func (a *fakeAdapter) Send(context.Context, channels.Part) (channels.Receipt, error) {
	return channels.Receipt{}, nil
}

type fakeAcker struct {
	fakeAdapter
	mu   sync.Mutex
	acks []channels.PressAck
	ack  func(channels.PressAck) error
}

func (a *fakeAcker) Ack(_ context.Context, _ channels.Inbound, ack channels.PressAck) error {
	a.mu.Lock()
	a.acks = append(a.acks, ack)
	fn := a.ack
	a.mu.Unlock()
	if fn != nil {
		return fn(ack)
	}
	return nil
}

// bed is an inbox with a fake store and a record of its hooks.
type bed struct {
	t     *testing.T
	store *fakeStore
	inbox *Inbox
	hooks []string
	n     int
}

func newBed(t *testing.T, cfg Config, change ...func(*Deps)) *bed {
	t.Helper()
	texts, err := locale.New("en", nil)
	if err != nil {
		t.Fatal(err)
	}
	words, err := confirm.NewWords(confirm.DefaultYes(), confirm.DefaultNo(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, store: &fakeStore{known: map[string]bool{}, langs: map[string]string{}, letIn: map[channels.UserID]bool{}}}
	hook := func(name string) func(string) {
		return func(key string) { b.hooks = append(b.hooks, name+" "+key) }
	}
	deps := Deps{
		Store: b.store, Texts: texts, Words: words, Wake: hook("wake"), Cut: hook("cut"), Logged: hook("logged"),
		Speak: func(channel, key string) { b.hooks = append(b.hooks, "speak "+channel+" "+key) },
	}
	for _, c := range change {
		c(&deps)
	}
	if b.inbox, err = New(cfg, deps); err != nil {
		t.Fatal(err)
	}
	return b
}

// accept hands a message of user u in chat c to channel tg. Without an id it
// gets a new one.
func (b *bed) accept(a channels.Adapter, in channels.Inbound) error {
	b.n++
	if in.Kind == "" {
		in.Kind = channels.KindMessage
	}
	if in.ID == "" {
		in.ID = channels.MessageID(fmt.Sprint("m", b.n))
	}
	if in.Chat.ID == "" {
		in.Chat.ID = "c"
	}
	if in.From.ID == "" {
		in.From.ID = "u"
	}
	return b.inbox.Sink("tg", a).Accept(b.t.Context(), in)
}

func (b *bed) mustAccept(a channels.Adapter, in channels.Inbound) {
	b.t.Helper()
	if err := b.accept(a, in); err != nil {
		b.t.Fatalf("Accept: %v", err)
	}
}

func textsOf(parts []channels.Part) (out []string) {
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return out
}
