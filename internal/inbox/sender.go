package inbox

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

// Knock is a message of somebody who may not write yet. The first one is
// answered with a code, by which the bot's owner lets the person in.
type Knock struct {
	Place     Place
	DedupeKey string
	In        channels.Inbound
	// Code is for this person; it is good for For.
	Code string
	For  time.Duration
	// Max is how many people of a channel may have a good code at once; who
	// comes past it is told nothing.
	Max int
	// Say tells the code.
	Say []channels.Part
}

// Told is what became of a message whose author was given a code.
const Told Outcome = "pairing"

const (
	// codeFor is how long a code is good. A person is told one once; the
	// first message after its time gets another one.
	codeFor = time.Hour
	// maxKnocks bounds what strangers can make the bot say and keep.
	maxKnocks = 100
	// codeChars are those that nobody takes for another one.
	codeChars = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
)

// newCode is eight random characters in two groups: 40 bits.
func newCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = codeChars[int(b[i])%len(codeChars)]
	}
	return string(b[:4]) + "-" + string(b[4:])
}

// letsIn tells whether the person may write: listed, or let in by a code. The
// store is asked each time: who was put out, by whichever process, is out.
func (s *sink) letsIn(ctx context.Context, user channels.UserID) (bool, error) {
	if s.policy.allows(user) {
		return true, nil
	}
	if !s.policy.Pair {
		return false, nil
	}
	return s.deps.Store.LetIn(ctx, s.channel, user)
}

// stranger is for a message of somebody who may not write. Where the channel
// pairs, a private one is answered with a code; what it says is not kept.
func (s *sink) stranger(ctx context.Context, m message) (Outcome, error) {
	if !s.policy.Pair || m.in.Chat.Group {
		return Ignored, nil
	}
	m.in.Text, m.in.Media = "", nil
	m.caps = s.adapter.Capabilities(m.in.Chat)
	s.language(ctx, &m)
	code := newCode()
	acc, err := s.deps.Store.Knock(ctx, Knock{
		Place: m.place, DedupeKey: m.key, In: m.in, Code: code, For: codeFor, Max: maxKnocks,
		Say: s.say(m, locale.SenderCode, locale.Arg{Name: "code", Value: code}),
	})
	if err != nil {
		return "", err
	}
	if acc.Outcome == Told {
		s.deps.Log.Info("somebody who may not write was given a code", "channel", s.channel)
	}
	s.done(m.place, acc)
	return acc.Outcome, nil
}
