package whatsappweb

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	waLog "go.mau.fi/whatsmeow/util/log"
)

// sdkLog passes on what the SDK warns of, at debug level: what matters of it
// is also an event or an error. What it would say at lower levels are the
// stanzas themselves.
type sdkLog struct {
	log *slog.Logger
	// received is called with each stanza that came from the server, before
	// it is handled, in order. It may be nil.
	received func(stanza string)
}

var _ waLog.Logger = sdkLog{}

func (l sdkLog) say(format string, args []any) {
	if !l.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	text := fmt.Sprintf(format, args...)
	text = strings.ToValidUTF8(text[:min(len(text), 300)], "?")
	l.log.Debug("whatsapp sdk", "said", text)
}

func (l sdkLog) Warnf(format string, args ...any)  { l.say(format, args) }
func (l sdkLog) Errorf(format string, args ...any) { l.say(format, args) }
func (sdkLog) Infof(string, ...any)                {}
func (sdkLog) Debugf(string, ...any)               {}

// Sub implements waLog.Logger. What the SDK receives it logs under this name.
func (l sdkLog) Sub(module string) waLog.Logger {
	if module == "Recv" && l.received != nil {
		return recvLog{l}
	}
	return l
}

// recvLog is the log of what was received.
type recvLog struct{ sdkLog }

// Debugf is called with a stanza.
func (l recvLog) Debugf(_ string, args ...any) {
	if len(args) != 1 {
		return
	}
	if stanza, ok := args[0].(string); ok {
		l.received(stanza)
	}
}

// lastWords is what the server said of why it ends a connection. The SDK tells
// of the end itself by another way, which may be faster; and where it ends
// while other stanzas wait to be handled, it may never look at this one. Only
// its log of what it received is in time and complete.
type lastWords struct {
	once sync.Once
	said chan struct{} // closed when there are some
	text string        // after that
}

func newLastWords() *lastWords { return &lastWords{said: make(chan struct{})} }

func (w *lastWords) note(stanza string) {
	if !strings.HasPrefix(stanza, "<stream:error") && !strings.HasPrefix(stanza, "<failure") {
		return
	}
	w.once.Do(func() { w.text = stanza; close(w.said) })
}

var passing = regexp.MustCompile(`^<(stream:error|failure)[^>]* (?:code|reason)="(50[03])"`)

// passing tells whether they are ones that the SDK makes no event of, and what
// they mean.
func (w *lastWords) passing() (why string, ok bool) {
	m := passing.FindStringSubmatch(w.text)
	switch {
	case m == nil:
		return "", false
	case m[1] == "failure":
		return "the server refused the login (" + m[2] + ")", true
	case m[2] == "500":
		return "", false // an event comes
	}
	return "the server ended the stream with code " + m[2], true
}
