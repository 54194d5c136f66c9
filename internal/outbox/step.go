package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/parley-bot/parley/channels"
)

// step is what is left after one entry.
type step struct {
	entry *Entry        // the next one, marked as sending
	more  bool          // the chat may have another
	rest  time.Duration // look again after that
	retry bool          // the entry was put back
	hold  bool          // the entry is to be sent after the rest
	// outcome couldn't be committed.
	outcome *outcome
}

// step sends one entry of the chat and commits what came of it.
func (a *account) step(c *chat) step {
	e, out, d := a.begin(c)
	if out == nil {
		if d != nil {
			a.draw(d)
			return step{}
		}
		if e == nil {
			var done step
			if e, done = a.next(c); e == nil {
				return done
			}
		}
		if wait := a.reserve(c, e); wait > 0 {
			return step{entry: e, rest: wait, hold: true}
		}
		out = a.deliver(*e)
	}
	return a.commit(c, out)
}

// next asks the store for the chat's next entry.
func (a *account) next(c *chat) (*Entry, step) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	n, ok, due, err := a.o.deps.Store.Next(ctx, c.key)
	switch {
	case err != nil:
		c.storeFails++
		a.o.log.Error("entry could not be read", "channel", a.name, "chat", c.key, "err", err)
		return nil, step{rest: storeBackOff(c.storeFails)}
	case !ok && due.IsZero():
		return nil, step{}
	case !ok:
		return nil, step{rest: max(minRest, time.Until(due))}
	}
	c.storeFails = 0
	return a.got(c, &n), step{}
}

// minRest keeps a store whose clock is behind from being asked without pause.
const minRest = 20 * time.Millisecond

func storeBackOff(fails int) time.Duration { return delay(time.Second, 30*time.Second, fails) }

// delay is the n-th back-off: first doubled n-1 times, most at the most, less
// up to a fifth by chance, so that chats that failed together don't return
// together.
func delay(first, most time.Duration, n int) time.Duration {
	wait := most
	if n < 30 {
		wait = min(most, first<<max(n-1, 0))
	}
	return wait - time.Duration(rand.Int64N(int64(wait)/5+1))
}

// deliver makes the platform call, unless the entry has had its time or can't
// be done at all.
func (a *account) deliver(e Entry) *outcome {
	if age := time.Since(e.Created); !e.Created.IsZero() && age > a.o.cfg.MaxAge {
		a.o.log.Error("entry was not sent in time and is given up", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq,
			"attempts", e.Attempts, "age", age.Round(time.Second))
		a.o.metrics.sends.WithLabelValues(a.name, outExpired).Inc()
		return &outcome{entry: e, verdict: verdict{do: doFail, unknown: e.Maybe, cause: "not sent in time"}}
	}
	editor, ok := a.adapter.(channels.Editor)
	if e.Kind == Finish && (!ok || e.Target == "") {
		e.Kind = Send // of the draft there is nothing to edit
	}
	if e.Kind == Send && e.Doubts > 1 && !a.idempotent(e) {
		// Sent twice perhaps already, each time cut short by a crash.
		a.o.log.Error("entry may have been sent twice and is given up", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq)
		a.o.metrics.sends.WithLabelValues(a.name, string(channels.Unknown)).Inc()
		return &outcome{entry: e, verdict: verdict{do: doFail, unknown: true, cause: "cut short twice while it was sent"}}
	}
	if e.Kind == Edit && (!ok || e.Target == "") {
		a.o.metrics.sends.WithLabelValues(a.name, outDropped).Inc()
		return &outcome{entry: e, verdict: verdict{do: doFail, cause: "nothing to edit"}}
	}
	if a.o.sendCtx.Err() != nil {
		return &outcome{entry: e, verdict: verdict{do: doRetry, cause: "shutting down"}}
	}
	if out := a.putOff(e); out != nil {
		return out
	}
	e.Part.Key = Key(e.ChatKey, e.Seq)
	receipt, err := a.attempt(&e, editor)
	if a.o.deps.OnTried != nil {
		a.o.deps.OnTried(a.name, err)
	}
	if err == nil {
		a.sentOK.Inc()
		a.succeeded()
		a.left(e, receipt)
		return &outcome{entry: e, receipt: receipt, verdict: verdict{do: doSent}}
	}
	return &outcome{entry: e, verdict: a.failed(e, err)}
}

// attempt makes the call; a second one where the first was certainly not taken
// and there is another way to say the same.
func (a *account) attempt(e *Entry, editor channels.Editor) (channels.Receipt, error) {
	receipt, err := a.say(*e, editor)
	if err == nil || e.Kind != Finish || channels.ClassOf(err) != channels.PermanentMessage {
		return receipt, err
	}
	// The draft is gone, or too old to be edited.
	a.o.log.Warn("draft can't be edited, the answer is sent as a message of its own", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq, "err", err)
	e.Kind = Send
	return a.say(*e, editor)
}

// say makes the call, and a second one without the markup where the platform
// refuses it.
func (a *account) say(e Entry, editor channels.Editor) (channels.Receipt, error) {
	receipt, err := a.call(e, editor)
	if err != nil && e.Part.Plain != "" && channels.ClassOf(err) == channels.PermanentMessage {
		// Certainly not taken, perhaps for its markup: once more without.
		a.o.metrics.sends.WithLabelValues(a.name, string(channels.PermanentMessage)).Inc()
		a.o.log.Warn("platform refused the markup, plain text is sent", "channel", a.name, "chat", e.ChatKey, "seq", e.Seq, "err", err)
		plain := e
		plain.Part.Text, plain.Part.Markup, plain.Part.Plain = e.Part.Plain, channels.MarkupPlain, ""
		receipt, err = a.call(plain, editor)
	}
	return receipt, err
}

// panicked is the error that a panic in an adapter becomes.
type panicked struct{ kind string }

func (p *panicked) Error() string { return "adapter panicked: " + p.kind }

// recovered makes a panic the call's error, of unknown outcome. What was
// panicked with isn't told unless the runtime made it: it may quote a message.
func (a *account) recovered(err *error) {
	v := recover()
	if v == nil {
		return
	}
	kind := fmt.Sprintf("%T", v)
	if re, ok := v.(runtime.Error); ok {
		kind = re.Error()
	}
	a.o.log.Error("adapter panicked", "channel", a.name, "panic", kind, "stack", string(debug.Stack()))
	*err = &panicked{kind}
}

// call makes the one platform call.
func (a *account) call(e Entry, editor channels.Editor) (r channels.Receipt, err error) {
	defer a.recovered(&err)
	ctx, cancel := context.WithTimeout(a.o.sendCtx, a.o.cfg.SendTimeout)
	defer cancel()
	begun := time.Now()
	defer func() { a.duration.Observe(time.Since(begun).Seconds()) }()
	if e.Kind != Send {
		return channels.Receipt{ID: e.Target}, editor.Edit(ctx, e.Target, e.Part)
	}
	return a.adapter.Send(ctx, e.Part)
}

// outcome is what came of an entry, to be committed.
type outcome struct {
	entry   Entry
	receipt channels.Receipt
	verdict
}

// commit saves the outcome. Where the store is away it is kept and tried
// again: until then nothing else is sent in the chat.
func (a *account) commit(c *chat, out *outcome) step {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	s, err := a.save(ctx, out)
	if err != nil {
		c.storeFails++
		a.o.log.Error("outcome of a send could not be saved", "channel", a.name, "chat", c.key, "seq", out.entry.Seq, "err", err)
		return step{outcome: out, rest: storeBackOff(c.storeFails)}
	}
	c.storeFails = 0
	return s
}

func (a *account) save(ctx context.Context, out *outcome) (step, error) {
	e, o := out.entry, a.o
	switch out.do {
	case doSent:
		next, ok, err := o.deps.Store.Sent(ctx, e, out.receipt)
		if err != nil {
			return step{}, err
		}
		if o.deps.OnLogged != nil {
			o.deps.OnLogged(e.ChatKey)
		}
		if o.deps.OnQuestion != nil && e.Asks > 0 {
			o.deps.OnQuestion(time.Now().Add(e.Asks))
		}
		if ok {
			return step{entry: &next}, nil
		}
		return step{}, nil
	case doRetry:
		now := time.Now()
		wait := out.wait
		if !e.Created.IsZero() {
			// No longer than it takes to be too old: then it is given up.
			wait = max(0, min(wait, e.Created.Add(o.cfg.MaxAge).Add(time.Second).Sub(now)))
		}
		if err := o.deps.Store.Retry(ctx, e, now.Add(wait), out.unknown, out.cause); err != nil {
			return step{}, err
		}
		o.metrics.retries.WithLabelValues(a.name).Inc()
		return step{retry: true, rest: max(minRest, wait)}, nil
	default:
		f, err := o.deps.Store.Failed(ctx, e, out.unknown, out.cause)
		if err != nil {
			return step{}, err
		}
		if f.Lane != "" && o.deps.OnFailed != nil {
			o.deps.OnFailed(f)
		}
		return step{more: f.More}, nil
	}
}
