package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// resendWait, and up to resendSpread more by chance, is left between a send
	// of unknown outcome and the one time that it is sent again: what broke the
	// first mostly lasts longer than a moment.
	resendWait   = 20 * time.Second
	resendSpread = 10 * time.Second
	// firstPutOff and mostPutOff: how long a last try waits for a platform that
	// doesn't answer.
	firstPutOff = 2 * time.Second
	mostPutOff  = time.Minute
	// askTime bounds the question whether the platform answers, and askedFor is
	// how long the answer counts for all chats of the account.
	askTime  = 10 * time.Second
	askedFor = 5 * time.Second
)

// lastTry tells whether the entry is given up should this call's outcome be
// unknown, too.
func (a *account) lastTry(e Entry) bool {
	switch e.Kind {
	case Send:
		return e.Maybe && !a.idempotent(e)
	case Edit:
		return e.Attempts >= maxTries
	case Finish:
	}
	return false
}

// putOff keeps a last try from being spent on a platform that doesn't answer;
// nil is to go on.
func (a *account) putOff(e Entry) *outcome {
	if !a.lastTry(e) {
		return nil
	}
	err := a.away()
	if err == nil {
		return nil
	}
	wait := delay(firstPutOff, mostPutOff, e.Attempts-1)
	a.o.log.Warn("platform doesn't answer, the last try waits", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq, "retry_in", wait, "err", err)
	return &outcome{entry: e, verdict: verdict{do: doRetry, wait: wait, cause: clip(err.Error())}}
}

// errAsking is that another chat's entry is just asking.
var errAsking = errors.New("whether the platform answers is being asked")

// away tells how the platform can't be reached; nil where it answers, whatever
// it says, or there is no way to ask.
func (a *account) away() error {
	c, ok := a.adapter.(channels.Checker)
	if !ok {
		return nil
	}
	// Senders don't wait for each other here: others have chats to send to.
	if !a.asking.TryLock() {
		return errAsking
	}
	defer a.asking.Unlock()
	if now := time.Now(); a.asked.IsZero() || now.Sub(a.asked) >= askedFor {
		a.answer = unreachable(a.ask(c))
		a.asked = time.Now()
	}
	return a.answer
}

func (a *account) ask(c channels.Checker) (err error) {
	defer a.recovered(&err)
	ctx, cancel := context.WithTimeout(a.o.sendCtx, min(a.o.cfg.SendTimeout, askTime))
	defer cancel()
	_, err = c.Check(ctx)
	return err
}

// unreachable is err where it says that no answer of the platform's came; what
// else may be wrong with an account doesn't matter here.
func unreachable(err error) error {
	if se, ok := errors.AsType[*channels.SendError](err); ok {
		switch se.Class {
		case channels.Temporary, channels.Unknown, channels.RateLimited:
			return err
		default:
		}
	}
	return nil
}
