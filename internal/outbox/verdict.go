package outbox

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
)

type deed int

const (
	doSent deed = iota
	doRetry
	doFail
)

// verdict is what to do about an entry.
type verdict struct {
	do      deed
	wait    time.Duration // doRetry
	unknown bool          // it may have been delivered
	cause   string        // for operators
}

const (
	firstRetry = time.Second
	mostRetry  = 5 * time.Minute
	// maxTries of an edit whose outcome stays unknown, and of an entry that
	// makes its adapter panic: they must not hold their chat for a day. It takes
	// about two minutes, and more while the platform doesn't answer.
	maxTries = 8
	maxCause = 300
)

// judge decides by the class of the failure. It is pure but for the jitter;
// idempotent is Capabilities.Idempotent.
func judge(e Entry, err error, idempotent bool) verdict {
	backOff := delay(firstRetry, mostRetry, e.Attempts)
	_, crashed := errors.AsType[*panicked](err)
	v := verdict{do: doRetry, wait: backOff, cause: clip(err.Error())}
	switch channels.ClassOf(err) {
	case channels.PermanentChat, channels.PermanentMessage:
		// An earlier attempt may still have been delivered.
		return verdict{do: doFail, unknown: e.Maybe, cause: v.cause}
	case channels.RateLimited:
		if after := asked(err); after > 0 {
			v.wait = after + time.Duration(rand.Int64N(int64(after)/10+int64(100*time.Millisecond)))
		}
	case channels.Temporary, channels.PermanentToken:
	default:
		v.unknown = true
		switch {
		case e.Kind != Send, idempotent:
			// An edit can be repeated; one that is an answer is, like a send.
			if (e.Kind == Edit || crashed) && e.Attempts >= maxTries {
				v.do = doFail
			}
		case e.Maybe:
			v.do = doFail
		default:
			v.wait = resendWait + rand.N(resendSpread)
		}
	}
	return v
}

// asked is how long the platform wants us to wait; a day is the longest that
// is believed.
func asked(err error) time.Duration {
	if se, ok := errors.AsType[*channels.SendError](err); ok {
		return min(max(se.After, 0), 24*time.Hour)
	}
	return 0
}

func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxCause)], "")
}

// failed takes note of a failed call and decides about the entry.
func (a *account) failed(e Entry, err error) verdict {
	class := channels.ClassOf(err)
	a.o.metrics.sends.WithLabelValues(a.name, string(class)).Inc()
	v := judge(e, err, class == channels.Unknown && a.idempotent(e))
	switch class {
	case channels.PermanentToken:
		v.wait = a.refused(err)
	case channels.RateLimited:
		a.o.metrics.limited.WithLabelValues(a.name).Inc()
		a.limited(e.ChatKey, v.wait)
	default: // concerns this entry alone
	}
	switch {
	case v.do == doFail && e.Kind == Edit:
		a.o.log.Debug("edit is given up", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq, "class", class)
	case v.do == doFail:
		a.o.log.Error("entry is given up", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq, "class", class,
			"attempts", e.Attempts, "unknown", v.unknown, "err", err)
	default:
		a.o.log.Warn("entry will be sent again", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq, "class", class,
			"attempts", e.Attempts, "retry_in", v.wait, "err", err)
	}
	return v
}

func (a *account) idempotent(e Entry) bool { return a.capabilities(e.Part.Chat).Idempotent }

// capabilities asks the adapter, whose answer is the least if it panics.
func (a *account) capabilities(chat channels.Chat) (caps channels.Capabilities) {
	defer func() {
		if recover() != nil {
			caps = channels.Capabilities{}
		}
	}()
	return a.adapter.Capabilities(chat)
}
