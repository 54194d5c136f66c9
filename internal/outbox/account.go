package outbox

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
)

// account is one channel: its chats and its senders. Its lock is never held
// while the store, the adapter or a hook is called.
type account struct {
	o       *Outbox
	name    string
	adapter channels.Adapter
	// sentOK and duration are of this channel, looked up once.
	sentOK   prometheus.Counter
	duration prometheus.Observer

	mu      sync.Mutex
	chats   map[string]*chat
	head    *chat
	tail    *chat
	queued  int
	senders int
	idle    int // senders that wait and weren't signalled
	resting int
	wake    *sync.Cond
	state   stage
	pause   pause
	standby bool // another process sends
	// doubtful are entries that Next said are being sent, by seq: such a one
	// may be about to be taken, having been born in a commit just now.
	doubtful map[string]doubt
	drafts   map[draftKey]*Draft
	budget   budget
	cursor   string // of the scan
	// scanFrom is when the next scan may be: put off while so many chats rest
	// that it would only find those again.
	scanFrom time.Time
	behind   bool // the store has more than is queued

	// asking is held while the platform is asked whether it answers; asked and
	// answer are its.
	asking sync.Mutex
	asked  time.Time
	answer error
}

type stage int

const (
	stageNew stage = iota
	stageRunning
	stageDraining // nothing new, but what is at hand
	stageHalted   // nothing
)

func newAccount(o *Outbox, name string, adapter channels.Adapter) *account {
	a := &account{o: o, name: name, adapter: adapter, chats: make(map[string]*chat), doubtful: make(map[string]doubt), drafts: make(map[draftKey]*Draft), standby: o.deps.Standby}
	a.wake = sync.NewCond(&a.mu)
	o.metrics.create(name)
	a.sentOK = o.metrics.sends.WithLabelValues(name, outOK)
	a.duration = o.metrics.duration.WithLabelValues(name)
	return a
}

func (a *account) start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = stageRunning
	for range a.queued {
		a.summon()
	}
}

// drain sends what is at hand and looks for nothing else.
func (a *account) drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state >= stageDraining {
		return
	}
	a.pause.stop()
	for _, c := range a.chats {
		if a.awake(c) {
			// An outcome gets its last chance to be saved.
			if c.outcome != nil {
				a.push(c)
			}
		}
	}
	a.state = stageDraining
	a.wakeAll()
}

// halt begins nothing more.
func (a *account) halt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = stageHalted
	a.wakeAll()
}

// giveBackAll puts back what is marked as sending and wasn't sent.
func (a *account) giveBackAll() {
	a.mu.Lock()
	var held []Entry
	for _, c := range a.chats {
		if c.entry != nil && c.outcome == nil {
			held = append(held, *c.entry)
			c.entry = nil
		}
	}
	a.mu.Unlock()
	for _, e := range held {
		a.o.giveBack(e)
	}
}

// hand takes an entry that is marked as sending.
func (a *account) hand(e Entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state >= stageDraining || a.standby {
		return false
	}
	if d, ok := a.doubtful[e.ChatKey]; ok && e.Seq <= d.seq {
		return true // Next was faster: it has been sent
	}
	c := a.chats[e.ChatKey]
	switch {
	case c == nil:
		if len(a.chats) >= a.o.cfg.MaxChats {
			return false
		}
		a.push(&chat{key: e.ChatKey, entry: &e})
	case c.seq >= e.Seq: // Next was faster: it is being sent
	case c.entry == nil:
		c.entry = &e
		if c.outcome == nil {
			a.rouse(c)
		}
	default:
		// The same once more; or something earlier has yet to leave: then the
		// entry is found in the store when its turn comes.
		c.again = true
	}
	return true
}

// hint says that the chat may have something.
func (a *account) hint(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state >= stageDraining || a.standby {
		return
	}
	if c := a.chats[key]; c != nil {
		c.again = true
		if c.entry == nil && c.outcome == nil {
			// What it rests for may be over: a question that was withdrawn, say.
			a.rouse(c)
		}
		return
	}
	if len(a.chats) >= a.o.cfg.MaxChats {
		a.behind = true
		return
	}
	a.push(&chat{key: key})
}

// rouse ends a chat's rest. The lock is held.
func (a *account) rouse(c *chat) {
	if a.awake(c) {
		a.push(c)
	}
}

// awake stops the timer of a resting chat; false where it doesn't rest or its
// timer is just firing. The lock is held.
func (a *account) awake(c *chat) bool {
	if c.rest == nil || !c.rest.Stop() {
		return false
	}
	c.rest = nil
	a.resting--
	return true
}

// push queues the chat and finds it a sender. The lock is held.
func (a *account) push(c *chat) {
	a.chats[c.key] = c
	c.queued, c.next = true, nil
	if a.tail == nil {
		a.head = c
	} else {
		a.tail.next = c
	}
	a.tail = c
	a.queued++
	a.summon()
}

func (a *account) pop() *chat {
	c := a.head
	a.head = c.next
	if a.head == nil {
		a.tail = nil
	}
	a.queued--
	// A hint that came while the chat was queued for a draft is kept.
	c.next, c.queued, c.busy, c.again = nil, false, true, c.again && c.draft != nil
	return c
}

// summon wakes a sender or starts one. A signalled one no longer counts as
// idle: two chats never rely on one sender. The lock is held.
func (a *account) summon() {
	switch {
	case a.state != stageRunning && (a.state != stageDraining || a.senders == 0):
	case a.idle > 0:
		a.idle--
		a.wake.Signal()
	case a.senders < a.o.cfg.Senders:
		a.senders++
		a.o.senders.Go(a.sender)
	}
}

// wakeAll lets all idle senders look again. The lock is held.
func (a *account) wakeAll() {
	a.idle = 0
	a.wake.Broadcast()
}

// take waits for a chat to send to; nil says that there will be none.
func (a *account) take() *chat {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		switch {
		case a.state == stageHalted,
			a.state == stageDraining && (a.queued == 0 || a.pause.on || a.standby):
			a.senders--
			return nil
		case a.queued > 0 && !a.pause.on && !a.standby:
			if a.behind && a.queued < 2*a.o.cfg.Senders {
				a.behind = false
				poke(a.o.scan)
			}
			return a.pop()
		}
		a.idle++
		a.wake.Wait()
	}
}

// sender sends to one chat after the other, one entry each time.
func (a *account) sender() {
	for c := a.take(); c != nil; c = a.take() {
		a.settle(c, a.step(c))
	}
}

// settle decides what becomes of a chat after a step.
func (a *account) settle(c *chat, s step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.busy, c.seq, c.outcome = false, 0, s.outcome
	switch {
	case s.entry != nil:
		c.merge(s.entry)
	case s.retry:
		c.entry = nil // nothing may overtake the one put back
	}
	switch {
	case a.standby && (s.outcome == nil || s.outcome.do != doSent):
		// What is marked as sending is the other process's to doubt.
		delete(a.chats, c.key)
	case s.outcome != nil, s.hold:
		a.lie(c, s.rest)
	case a.state == stageHalted:
		if c.entry == nil {
			delete(a.chats, c.key)
		}
	case c.entry != nil || s.more || c.again && s.rest == 0:
		a.push(c)
	case s.rest > 0:
		a.lie(c, s.rest)
	default:
		delete(a.chats, c.key)
	}
}

// lie lets the chat rest. Too many resting ones are forgotten: the store has
// their entries and when they are due. One that has an entry at hand, or an
// outcome, is kept. The lock is held.
func (a *account) lie(c *chat, wait time.Duration) {
	full := a.resting >= a.o.cfg.MaxChats/2
	if c.outcome == nil && c.entry == nil && (a.state != stageRunning || full) {
		delete(a.chats, c.key)
		if full {
			a.scanFrom = time.Now().Add(crowdedWait)
		}
		return
	}
	if a.state != stageRunning {
		return
	}
	a.resting++
	c.rest = time.AfterFunc(wait, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if c.rest != nil {
			c.rest = nil
			a.resting--
			a.push(c)
		}
	})
}

// poke signals a channel with room for one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
