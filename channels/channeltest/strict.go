package channeltest

import (
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// Failure makes one call fail.
type Failure struct {
	// Op and Chat say which calls it is for; empty is any.
	Op   Op
	Chat channels.ChatID
	// Class is what the caller is told; "" lets the call succeed, which
	// makes sense with Hold.
	Class channels.SendClass
	After time.Duration
	Code  string
	// Shown makes a call of class Unknown take effect all the same.
	Shown bool
	// Hold keeps the call waiting until it is closed or the caller's
	// context ends.
	Hold <-chan struct{}
}

type failed string

func (f failed) Error() string { return string(f) }

func (f *Failure) err() error {
	if f == nil || f.Class == "" {
		return nil
	}
	return &channels.SendError{Class: f.Class, After: f.After, Code: f.Code, Err: failed("failure asked for by the test")}
}

func (f *Failure) shows() bool { return f != nil && f.Class == channels.Unknown && f.Shown }

// FailNext queues failures: each is used up by the first call it is for.
func (f *Fake) FailNext(failures ...Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, failures...)
}

// FailWhen asks decide at every send and edit that no queued failure is for;
// nil lets it pass. FailWhen(nil) ends that.
func (f *Fake) FailWhen(decide func(op Op, part channels.Part) *Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faultFunc = decide
}

func (f *Fake) takeFault(op Op, part channels.Part) *Failure {
	for i, fault := range f.faults {
		if (fault.Op == "" || fault.Op == op) && (fault.Chat == "" || fault.Chat == part.Chat.ID) {
			f.faults = slices.Delete(f.faults, i, i+1)
			return &fault
		}
	}
	if f.faultFunc != nil {
		return f.faultFunc(op, part)
	}
	return nil
}

// Violations lists the calls that a correct core never makes.
func (f *Fake) Violations() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.violations)
}

// checkPart refuses what is over the platform's limits; f.mu is held.
func (f *Fake) checkPart(part channels.Part) error {
	caps := f.capabilities(part.Chat)
	limit := caps.TextMax
	if len(part.Buttons) > 0 && caps.Buttons != nil && caps.Buttons.TextMax > 0 {
		limit = caps.Buttons.TextMax
	}
	counted := part.Text
	if part.Markup == channels.MarkupHTML && part.Plain != "" {
		counted = part.Plain // HTML counts without its tags
	}
	switch {
	case part.Chat.ID == "":
		return f.violate("a part without a chat")
	case strings.TrimSpace(part.Text) == "":
		return f.violate("an empty text to chat %q", part.Chat.ID)
	case !utf8.ValidString(part.Text):
		return f.violate("a text that isn't UTF-8 to chat %q", part.Chat.ID)
	case limit > 0 && Length(counted, caps.Unit) > limit:
		return f.violate("a text of %d to chat %q, whose limit is %d", Length(counted, caps.Unit), part.Chat.ID, limit)
	case part.Markup != channels.MarkupPlain && part.Markup != caps.Markup:
		return f.violate("markup %q to a chat that takes %q", part.Markup, caps.Markup)
	case part.Private != "" && !caps.Private:
		return f.violate("a private part to a chat that has none")
	case len(part.Buttons) > 0 && caps.Buttons == nil:
		return f.violate("buttons to a chat that has none")
	}
	return f.checkButtons(part.Buttons, caps.Buttons)
}

func (f *Fake) checkButtons(buttons []channels.Button, limits *channels.ButtonLimits) error {
	if len(buttons) == 0 {
		return nil
	}
	if limits.Max > 0 && len(buttons) > limits.Max {
		return f.violate("%d buttons where %d fit", len(buttons), limits.Max)
	}
	seen := map[channels.ButtonID]bool{}
	for _, b := range buttons {
		switch n := utf8.RuneCountInString(b.Label); {
		case n == 0:
			return f.violate("a button without a label")
		case limits.LabelMax > 0 && n > limits.LabelMax:
			return f.violate("a label of %d runes where %d fit", n, limits.LabelMax)
		case len(b.ID) < 16 || len(b.ID) > 64:
			return f.violate("a button id of %d bytes", len(b.ID))
		case limits.IDBytes > 0 && len(b.ID) > limits.IDBytes:
			return f.violate("a button id of %d bytes where %d fit", len(b.ID), limits.IDBytes)
		case seen[b.ID]:
			return f.violate("two buttons with one id")
		}
		seen[b.ID] = true
	}
	return nil
}

// checkEdit finds the message and refuses an edit that changes nothing, unless
// it is the last edit made once more (as after a crash).
func (f *Fake) checkEdit(id channels.MessageID, part channels.Part) (*Message, error) {
	i := slices.IndexFunc(f.messages[part.Chat.ID], func(m *Message) bool { return m.ID == id })
	if i < 0 {
		return nil, f.violate("an edit of message %q, which chat %q doesn't have", id, part.Chat.ID)
	}
	m := f.messages[part.Chat.ID][i]
	if err := f.checkPart(part); err != nil {
		return nil, err
	}
	caps := f.capabilities(part.Chat)
	if !caps.Edit.Text {
		return nil, f.violate("an edit in a chat that has none")
	}
	if age := f.cfg.Now().Sub(m.At); caps.Edit.MaxAge > 0 && age > caps.Edit.MaxAge {
		return nil, f.violate("an edit of message %q, which is %s old", id, age)
	}
	again := part.Key != "" && f.editKeys[id] == part.Key
	if !again && m.Text == part.Text && slices.Equal(m.Buttons, part.Buttons) {
		return nil, f.violate("an edit of message %q that changes nothing", id)
	}
	return m, nil
}

// Length counts text as a platform does that limits it in unit.
func Length(text string, unit channels.TextUnit) int {
	switch unit {
	case channels.UnitByte:
		return len(text)
	case channels.UnitUTF16:
		n := 0
		for _, r := range text {
			n += max(1, utf16.RuneLen(r))
		}
		return n
	case channels.UnitRune:
	}
	return utf8.RuneCountInString(text)
}
