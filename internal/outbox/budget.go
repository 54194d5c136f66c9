package outbox

import (
	"time"

	"github.com/parley-bot/parley/channels"
)

// budget is what one account has sent lately, as far as it matters. A chat
// that is over its share rests, so that no sender waits for it.
type budget struct {
	account bucket
	chats   map[string]bucket
	// edited is when a message may be edited again.
	edited map[string]bucket
	// sweepAt is how many of them are kept before the old ones are dropped.
	sweepAt int
}

// bucket is a token bucket, as the time at which it will be full again.
type bucket time.Time

// take takes one token, where needed of the future, and tells when that is
// there and what the bucket is then.
func (b bucket) take(now time.Time, r channels.Rate) (at time.Time, left bucket) {
	if r.Sends <= 0 || r.Per <= 0 {
		return now, b
	}
	every := r.Per / time.Duration(r.Sends)
	full := time.Time(b)
	if full.Before(now) {
		full = now
	}
	at = full.Add(-every * time.Duration(r.Sends-1))
	if at.Before(now) {
		at = now
	}
	return at, bucket(full.Add(every))
}

const (
	// lateSlot is how late one may use a token that was waited for: after a
	// pause all who waited would come at once.
	lateSlot = time.Second
	minSweep = 1000
)

// reserve tells how long the chat must wait before its entry may be sent; 0 is
// at once. The wait is promised: whoever asks later waits longer.
func (a *account) reserve(c *chat, e *Entry) time.Duration {
	caps := a.capabilities(e.Part.Chat)
	edit := e.Kind != Send && caps.Edit.MinInterval > 0
	if caps.Budget == (channels.Budget{}) && !edit {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !c.slot.IsZero() && !now.Before(c.slot) && now.Sub(c.slot) <= lateSlot {
		c.slot = time.Time{}
		return 0
	}
	b := &a.budget
	b.sweep(now)
	var at, forAll time.Time
	forAll, b.account = b.account.take(now, caps.Budget.Account)
	at, b.chats[c.key] = b.chats[c.key].take(now, caps.Budget.Chat)
	at = later(at, forAll)
	if edit {
		key := editKey(c.key, e.Target)
		var forThis time.Time
		forThis, b.edited[key] = b.edited[key].take(at, channels.Rate{Sends: 1, Per: caps.Edit.MinInterval})
		at = later(at, forThis)
	}
	if !at.After(now) {
		c.slot = time.Time{}
		return 0
	}
	c.slot = at
	return at.Sub(now)
}

func editKey(chat string, id channels.MessageID) string { return chat + "\x00" + string(id) }

// spare takes what an edit of a draft costs, and tells whether there was room
// for it: it never waits, and leaves a chat that may send several messages at
// once half of that. The account's lock is held.
func (b *budget) spare(now time.Time, chat string, id channels.MessageID, caps channels.Capabilities) bool {
	b.sweep(now)
	room := func(at time.Time, left bucket, r channels.Rate) bool {
		return !at.After(now) && (r.Sends < 2 || time.Time(left).Sub(now) <= r.Per/2)
	}
	allAt, all := b.account.take(now, caps.Budget.Account)
	chatAt, one := b.chats[chat].take(now, caps.Budget.Chat)
	key := editKey(chat, id)
	editAt, edited := b.edited[key].take(now, channels.Rate{Sends: 1, Per: caps.Edit.MinInterval})
	if !room(allAt, all, caps.Budget.Account) || !room(chatAt, one, caps.Budget.Chat) || editAt.After(now) {
		return false
	}
	b.account, b.chats[chat] = all, one
	if caps.Edit.MinInterval > 0 {
		b.edited[key] = edited
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sweep forgets buckets that are full.
func (b *budget) sweep(now time.Time) {
	if b.chats == nil {
		b.chats, b.edited, b.sweepAt = make(map[string]bucket), make(map[string]bucket), minSweep
	}
	if len(b.chats)+len(b.edited) < b.sweepAt {
		return
	}
	for _, m := range []map[string]bucket{b.chats, b.edited} {
		for key, full := range m {
			if !time.Time(full).After(now) {
				delete(m, key)
			}
		}
	}
	b.sweepAt = max(minSweep, 2*(len(b.chats)+len(b.edited)))
}
