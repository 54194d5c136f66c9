package outbox

import "time"

// chat is what is remembered of a chat while it is queued, sent to or resting
// until a retry. Exactly one of queued, busy and rest is set.
type chat struct {
	key    string
	next   *chat // in the queue
	queued bool
	busy   bool
	rest   *time.Timer

	// entry is marked as sending, for us, and not sent yet. A sender that
	// is at it has taken it away.
	entry *Entry
	// draft is shown where there is nothing else to do: the chat was queued
	// for it alone.
	draft *Draft
	// outcome is what came of a send and couldn't be committed yet.
	outcome *outcome
	// seq is the entry that a sender is at, 0 where none.
	seq int64
	// again: woken while busy.
	again bool
	// slot is when the entry at hand may leave, where it had to wait for
	// that; zero where nobody has asked yet.
	slot time.Time
	// storeFails counts calls to the store that failed in a row.
	storeFails int
}

// begin takes what there is to do away from the chat.
func (a *account) begin(c *chat) (*Entry, *outcome, *Draft) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, out, d := c.entry, c.outcome, c.draft
	c.outcome, c.draft = nil, nil
	switch {
	case out != nil:
		c.seq = out.entry.Seq
		return nil, out, nil
	case e != nil:
		c.entry = nil
		c.seq = e.Seq
		if d != nil {
			d.arm() // another time
		}
		return e, nil, nil
	}
	return nil, nil, d
}

// merge keeps e as the entry to send next. Where the same was handed over in
// the meantime, that one stays: it knows that it was never tried.
func (c *chat) merge(e *Entry) {
	if c.entry == nil || c.entry.Seq != e.Seq {
		c.entry = e
	}
}

// got notes which entry Next has marked.
func (a *account) got(c *chat, e *Entry) *Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.merge(e)
	e, c.entry = c.entry, nil
	c.seq = e.Seq
	a.doubt(e)
	return e
}

// doubt is an entry that was said to be sending already.
type doubt struct {
	seq int64
	at  time.Time
}

const (
	// doubtAge is far longer than it takes from a commit to Take.
	doubtAge  = time.Minute
	maxDoubts = 1000
)

// doubt remembers an entry that the store already had as sending. The lock is
// held.
func (a *account) doubt(e *Entry) {
	if !e.Maybe {
		return
	}
	now := time.Now()
	if len(a.doubtful) >= maxDoubts {
		for key, d := range a.doubtful {
			if now.Sub(d.at) > doubtAge {
				delete(a.doubtful, key)
			}
		}
		if len(a.doubtful) >= maxDoubts {
			clear(a.doubtful)
		}
	}
	a.doubtful[e.ChatKey] = doubt{e.Seq, now}
}
