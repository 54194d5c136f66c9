package channeltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Config says what a [Fake] can do. The zero value is a platform that takes
// plain text of any length and nothing else.
type Config struct {
	// Caps is what the platform can do in every chat. Adapters made by
	// [Fake.Adapter] are Editors where Caps.Edit.Text is set and Typers where
	// Caps.Typing is.
	Caps channels.Capabilities
	// CapsFor, if set, gives the capabilities of one chat instead. It can't
	// add an optional interface that Caps rules out.
	CapsFor func(channels.Chat) channels.Capabilities
	// Acks makes the adapters Ackers: each press delivered must be
	// acknowledged once before Accept returns.
	Acks bool
	// Report is told of each call that a correct core never makes (t.Errorf
	// fits). Violations lists them too.
	Report func(format string, args ...any)
	// Now is the platform's clock; nil is time.Now.
	Now func() time.Time
}

// Fake is a platform in memory. It outlives the adapters made from it, as a
// platform outlives the processes that talk to it. Within a synctest bubble it
// has to be made in that bubble.
type Fake struct {
	cfg Config

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each change
	sinks      []*sink       // of the adapters that run, oldest first
	events     []Event
	messages   map[channels.ChatID][]*Message
	byKey      map[string]*Message // what was shown under an idempotency key
	editKeys   map[channels.MessageID]string
	inFlight   map[channels.Chat]bool
	faults     []Failure
	faultFunc  func(Op, channels.Part) *Failure
	violations []string
	nextOut    int
	nextIn     int
}

// Op names a call made to the platform.
type Op string

// The calls.
const (
	OpSend   Op = "send"
	OpEdit   Op = "edit"
	OpTyping Op = "typing"
	OpAck    Op = "ack"
)

// Event is one call made to the platform.
type Event struct {
	Op   Op
	Chat channels.Chat
	// ID is the message sent or edited, or the press acknowledged; "" for a
	// send that was not taken.
	ID    channels.MessageID
	Part  channels.Part     // sends and edits
	Until time.Time         // typing
	Ack   channels.PressAck // acks
	// Shown is true where the platform took the call and people see it.
	Shown bool
	// Repeat is true where it had taken the same key before.
	Repeat bool
	// Err is what the caller was told.
	Err error
}

// Message is a message of the bot as people see it now.
type Message struct {
	ID   channels.MessageID
	Sent channels.Part // as it was sent
	// Text and Buttons are as they are after the last edit.
	Text    string
	Buttons []channels.Button
	Edits   int
	At      time.Time
}

// New makes a platform.
func New(cfg Config) *Fake {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Fake{
		cfg:      cfg,
		changed:  make(chan struct{}),
		messages: map[channels.ChatID][]*Message{},
		byKey:    map[string]*Message{},
		editKeys: map[channels.MessageID]string{},
		inFlight: map[channels.Chat]bool{},
	}
}

// capabilities returns a copy that the caller may change.
func (f *Fake) capabilities(chat channels.Chat) channels.Capabilities {
	caps := f.cfg.Caps
	if f.cfg.CapsFor != nil {
		caps = f.cfg.CapsFor(chat)
	}
	if caps.Buttons != nil {
		limits := *caps.Buttons
		caps.Buttons = &limits
	}
	return caps
}

// notify wakes all who wait; f.mu is held.
func (f *Fake) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// violate notes a call that a correct core never makes; f.mu is held.
func (f *Fake) violate(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	f.violations = append(f.violations, msg)
	if f.cfg.Report != nil {
		f.cfg.Report("channeltest: %s", msg)
	}
	return &channels.SendError{Class: channels.PermanentMessage, Code: "400", Err: fmt.Errorf("refused: %s", msg)}
}

// send is one platform call.
func (f *Fake) send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	part.Buttons = slices.Clone(part.Buttons)
	fault, done, err := f.begin(ctx, OpSend, part)
	if err != nil {
		return channels.Receipt{}, err
	}
	defer done()

	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.notify()
	ev := Event{Op: OpSend, Chat: part.Chat, Part: part}
	if ev.Err = f.checkPart(part); ev.Err == nil {
		ev.Err = fault.err()
	}
	if ev.Err == nil || fault.shows() {
		caps := f.capabilities(part.Chat)
		m := f.byKey[part.Key]
		if caps.Idempotent && part.Key != "" && m != nil {
			ev.Repeat = true
		} else {
			f.nextOut++
			m = &Message{
				ID:   channels.MessageID(fmt.Sprintf("out-%d", f.nextOut)),
				Sent: part, Text: part.Text, Buttons: part.Buttons, At: f.cfg.Now(),
			}
			f.messages[part.Chat.ID] = append(f.messages[part.Chat.ID], m)
			f.byKey[part.Key] = m
		}
		ev.ID, ev.Shown = m.ID, true
	}
	f.events = append(f.events, ev)
	if ev.Err != nil {
		return channels.Receipt{}, ev.Err
	}
	return channels.Receipt{ID: ev.ID}, nil
}

// edit is one platform call.
func (f *Fake) edit(ctx context.Context, id channels.MessageID, part channels.Part) error {
	part.Buttons = slices.Clone(part.Buttons)
	fault, done, err := f.begin(ctx, OpEdit, part)
	if err != nil {
		return err
	}
	defer done()

	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.notify()
	ev := Event{Op: OpEdit, Chat: part.Chat, ID: id, Part: part}
	m, err := f.checkEdit(id, part)
	if ev.Err = err; ev.Err == nil {
		ev.Err = fault.err()
	}
	if m != nil && (ev.Err == nil || fault.shows()) {
		ev.Shown = true
		ev.Repeat = part.Key != "" && f.editKeys[id] == part.Key
		if !ev.Repeat {
			m.Text, m.Buttons = part.Text, part.Buttons
			m.Edits++
			f.editKeys[id] = part.Key
		}
	}
	f.events = append(f.events, ev)
	return ev.Err
}

func (f *Fake) typing(chat channels.Chat, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, Event{Op: OpTyping, Chat: chat, Until: until, Shown: true})
	f.notify()
}

// begin takes the failure meant for a call, holds the call back as long as
// that says, and watches that no two calls of one chat overlap.
func (f *Fake) begin(ctx context.Context, op Op, part channels.Part) (*Failure, func(), error) {
	f.mu.Lock()
	if f.inFlight[part.Chat] {
		err := f.violate("%s in chat %q while another call of that chat is under way", op, part.Chat.ID)
		f.mu.Unlock()
		return nil, nil, err
	}
	f.inFlight[part.Chat] = true
	fault := f.takeFault(op, part)
	f.mu.Unlock()
	done := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.inFlight, part.Chat)
	}
	if fault == nil || fault.Hold == nil {
		return fault, done, nil
	}
	select {
	case <-fault.Hold:
		return fault, done, nil
	case <-ctx.Done():
		done()
		return nil, nil, &channels.SendError{Class: channels.Unknown, Err: fmt.Errorf("%s: %w", op, context.Cause(ctx))}
	}
}
