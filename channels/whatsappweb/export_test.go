package whatsappweb

import (
	"context"
	"time"

	"github.com/parley-bot/parley/channels"
)

// SetRest replaces how the adapter waits.
func (a *Adapter) SetRest(fn func(ctx context.Context, d time.Duration) error) { a.rest = fn }

// SetReadTime replaces how long the adapter waits for what a server said last,
// where it said nothing.
func (a *Adapter) SetReadTime(d time.Duration) { a.readTime = d }

// ReceiveWhile lets a stanza come while a message has been taken for some time;
// 0 is that none is.
func ReceiveWhile(taking time.Duration, sink channels.Sink) {
	c := &connection{a: &Adapter{now: time.Now}, sink: sink, last: newLastWords()}
	if taking > 0 {
		c.taking.Store(time.Now().Add(-taking).UnixNano())
	}
	c.received(`<iq type="result"/>`)
}

// SetCodeTimes replaces how long codes are good.
func (a *Adapter) SetCodeTimes(first, others time.Duration) {
	a.codeTimes = [2]time.Duration{first, others}
}
