package whatsappweb

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/parley-bot/parley/channels"
)

// ending is why a connection is over.
type ending struct {
	link channels.Link
	// wait is how long to leave before the next; 0 is what is usual, unless
	// now is set.
	wait time.Duration
	now  bool
	// lost is set where nothing is known but that the connection is gone;
	// silent where nobody is at its other end any more.
	lost, silent bool
	// gone is set where WhatsApp has removed the device.
	gone bool
}

// connection is one connection with a client of its own.
type connection struct {
	a    *Adapter
	sink channels.Sink
	d    device
	cli  *whatsmeow.Client
	last *lastWords

	up    chan struct{} // closed when messages are received
	ended chan ending   // has room for the first; later ones say less

	// handling is read-locked while an event is handled, so that the end can
	// wait for that; closed says that nothing is handled any more.
	handling sync.RWMutex
	closed   bool
	stalled  atomic.Bool
	// taking is since when a message is being taken, in Unix nanoseconds, or 0.
	taking atomic.Int64
	once   sync.Once
	ctx    context.Context
}

func newConnection(a *Adapter, sink channels.Sink, d device) *connection {
	c := &connection{a: a, sink: sink, d: d, last: newLastWords(), up: make(chan struct{}), ended: make(chan ending, 1)}
	c.cli = a.client(d, c.received)
	c.cli.AddEventHandlerWithSuccessStatus(c.handle)
	return c
}

// received tells of a stanza that came. One that comes while a message is
// stuck says nothing: the SDK reads on, and handles nothing behind it.
func (c *connection) received(stanza string) {
	c.last.note(stanza)
	if since := c.taking.Load(); since == 0 || c.a.now().Sub(time.Unix(0, since)) < aliveTime {
		channels.Progressed(c.sink, aliveTime)
	}
}

func (c *connection) wasUp() bool {
	select {
	case <-c.up:
		return true
	default:
		return false
	}
}

// end notes why the connection is over; the first reason counts.
func (c *connection) end(e ending) {
	select {
	case c.ended <- e:
	default:
	}
}

func (c *connection) lostf(format string, args ...any) {
	c.end(ending{link: channels.Link{State: channels.LinkConnecting, Detail: fmt.Sprintf(format, args...)}})
}

// live connects, and returns when the connection is over or ctx has ended.
// Then nothing of it is running any more.
func (c *connection) live(ctx context.Context) (e ending) {
	c.ctx = ctx
	channels.Progressed(c.sink, dialTime+loginTime+aliveTime)
	// What is under way when ctx ends is finished: a receipt that isn't sent is
	// a message that comes again.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer func() {
		if e.silent {
			c.cut(cancel)
		}
		c.close(cancel)
	}()
	// The SDK knows no limit for a connection that hangs before it is one.
	limit := time.AfterFunc(dialTime, cancel)
	over := context.AfterFunc(ctx, cancel)
	err := c.cli.ConnectContext(life)
	over()
	if !limit.Stop() && err == nil && ctx.Err() == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return ending{link: channels.Link{State: channels.LinkConnecting, Detail: "connecting: " + briefly(err)}}
	}
	login := time.NewTimer(loginTime)
	defer login.Stop()
	for up := c.up; ; {
		select {
		case e := <-c.ended:
			return c.better(ctx, e)
		case <-ctx.Done():
			return ending{}
		case <-login.C:
			return ending{silent: true, link: channels.Link{State: channels.LinkConnecting, Detail: "the server accepted the connection and never the login"}}
		case <-up:
			up = nil
			login.Stop()
			c.a.conn.Store(c)
			c.a.log.Info("connected", "phone", masked(c.d.phone()))
			c.a.tell(ctx, c.sink, channels.Link{State: channels.LinkUp})
		}
	}
}

// cut ends a connection without a goodbye, for whose answer the SDK would wait,
// and waits until the SDK knows: it isn't safe against being told twice at once.
func (c *connection) cut(cancel func()) {
	cancel()
	t := time.NewTimer(leaveTime)
	defer t.Stop()
	select {
	case <-c.ended:
	case <-t.C:
	}
}

// better finds a better reason than that the connection is gone: what the
// server said before it ended it.
func (c *connection) better(ctx context.Context, e ending) ending {
	if !e.lost || c.stalled.Load() {
		return e
	}
	// What was read last is being decrypted still, or never: then this is all
	// that it costs.
	t := time.NewTimer(c.a.readTime)
	defer t.Stop()
	select {
	case other := <-c.ended:
		return other
	case <-c.last.said:
	case <-t.C:
		return e
	case <-ctx.Done():
		return e
	}
	if why, ok := c.last.passing(); ok {
		e.link.Detail = why
		return e
	}
	stop := c.drain()
	defer stop()
	t.Reset(drainTime)
	select {
	case other := <-c.ended:
		return other
	case <-t.C:
	case <-ctx.Done():
	}
	return e
}

// drain lets the SDK handle what waits in its queue still; it leaves that
// alone, each stanza by chance, once the connection is gone. No message is
// taken any more, for they come again.
func (c *connection) drain() (stop func()) {
	c.stalled.Store(true)
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		c.cli.DangerousInternals().HandlerQueueLoop(ctx, ctx) //nolint:staticcheck // marked as deprecated to warn; nothing else reaches the queue
	})
	return func() { cancel(); wg.Wait() }
}

// close ends the connection and waits for what handles an event. cancel
// breaks off where nobody answers the goodbye.
func (c *connection) close(cancel func()) {
	c.a.conn.CompareAndSwap(c, nil)
	c.handling.Lock()
	c.closed = true
	c.handling.Unlock()
	limit := time.AfterFunc(leaveTime, cancel)
	defer limit.Stop()
	leave(c.cli)
}

// leave says goodbye and disconnects. What is said last also waits its turn
// behind whatever the SDK is still sending, such as the receipt of a message
// that was just taken: it reads its socket without a lock while it sends.
func leave(cli *whatsmeow.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime/2)
	defer cancel()
	_ = cli.SendPresence(ctx, types.PresenceUnavailable) // it may be gone already
	cli.Disconnect()
}

// handle takes an event of the SDK; false keeps it from acknowledging what the
// event came from. The SDK would take a panic for a success.
func (c *connection) handle(evt any) (ok bool) {
	c.handling.RLock()
	defer c.handling.RUnlock()
	if c.closed {
		return false
	}
	defer func() {
		if r := recover(); r != nil {
			ok = false
			why := fmt.Sprintf("handling a %T panicked with a %T", evt, r) // the value may be what was written
			if re, isRuntime := r.(runtime.Error); isRuntime {
				why = fmt.Sprintf("handling a %T panicked: %v", evt, re)
			}
			c.a.log.Error("a WhatsApp event could not be handled", "err", why)
			c.stall(why)
		}
	}()
	switch e := evt.(type) {
	case *events.Message:
		c.taking.Store(c.a.now().UnixNano())
		defer c.taking.Store(0)
		return c.message(e)
	case *events.Receipt:
		return c.receipt(e)
	case *events.UndecryptableMessage:
		c.a.log.Warn("message could not be decrypted: its sender's device was asked for it again", "unavailable", e.IsUnavailable)
	case *events.Connected:
		c.once.Do(func() { close(c.up) })
		c.present()
	case *events.PushNameSetting, *events.AppStateSyncComplete:
		c.present()
	default:
		if e, over := verdict(evt, c.a.now()); over {
			c.end(e)
		}
	}
	return true
}

// stall ends the connection because a message can't be taken now: nothing that
// came behind it is taken either, so that all of it comes again in its order.
func (c *connection) stall(why string) {
	c.stalled.Store(true)
	c.lostf("%s", why)
}

// present shows the account as online: without it nobody sees the bot write.
// It needs the account's name, which comes some time after the link.
func (c *connection) present() {
	if err := c.cli.SendPresence(c.ctx, types.PresenceAvailable); err != nil {
		c.a.log.Debug("presence was not sent", "err", err)
	}
}
