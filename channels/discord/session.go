package discord

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	keySession = "session"
	keyDirect  = "direct"
	// sessionLife is how old a saved session may be for a resume to be tried.
	// Discord keeps them for some minutes.
	sessionLife = 10 * time.Minute
	// saveEvery is the least time between two saves. What was accepted since
	// the last comes again after a crash, and is known.
	saveEvery = 250 * time.Millisecond
	// maxDMs is how many direct conversations are remembered: the gateway
	// doesn't list them.
	maxDMs = 2000
	// overlap is how far before the newest message a gap begins: ids of
	// different channels don't come in their order.
	overlap = 5 * time.Second
)

// saved is what outlives the process.
type saved struct {
	// ID, URL and Seq resume a session; ID is "" where there is none. All up
	// to Seq has been accepted.
	ID  string    `json:"id,omitempty"`
	URL string    `json:"url,omitempty"`
	Seq int64     `json:"seq,omitempty"`
	At  time.Time `json:"at"`
	// Seen is the newest message up to which all has been accepted, or where
	// listening began.
	Seen string `json:"seen,omitempty"`
	// Since is where a gap begins whose messages aren't all fetched yet; ""
	// is no gap.
	Since string `json:"since,omitempty"`
	// Roles are the bot's own.
	Roles []string `json:"roles,omitempty"`
}

// entry is an event that was received and is being worked on.
type entry struct {
	seq  int64
	seen uint64
	over bool
}

// progress is what was received, and how far it was worked on.
type progress struct {
	mu sync.Mutex
	saved
	// received is the newest event's number; the socket resumes there.
	received int64
	entries  []*entry
	// gaps are channels still to be looked into, and guilds those whose
	// channels aren't known yet.
	gaps   int
	guilds map[string]bool
	// dms are direct conversations, as they came up. They have a key of their
	// own, since they are many and seldom change.
	dms    []string
	listed map[string]bool
	newDMs bool
	dirty  chan struct{}
}

func newProgress() *progress {
	return &progress{listed: map[string]bool{}, dirty: make(chan struct{}, 1)}
}

// changed asks for a save; p.mu is held.
func (p *progress) changed() {
	select {
	case p.dirty <- struct{}{}:
	default:
	}
}

// begin notes an event as received.
func (p *progress) begin(seq int64) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := &entry{seq: seq}
	p.received = seq
	p.entries = append(p.entries, e)
	return e
}

// finish notes an event as accepted; seen is the message that it brought, or 0.
func (p *progress) finish(e *entry, seen uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.seen, e.over = seen, true
	n := 0
	newest := snowflake(p.Seen)
	for n < len(p.entries) && p.entries[n].over {
		p.Seq = p.entries[n].seq
		newest = max(newest, p.entries[n].seen)
		n++
	}
	if n > 0 {
		p.entries = p.entries[n:]
		p.Seen = strconv.FormatUint(newest, 10)
		p.changed()
	}
}

// ready begins a session. Where messages may have been missed since another
// one, it tells from where on; 0 is no gap.
func (p *progress) ready(id, url string, guilds []string, now time.Time) (since uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// What is still being worked on of the session before is not in the new
	// one's numbers. It stands before what is fetched of its channel.
	p.ID, p.URL, p.Seq, p.received, p.entries = id, url, 0, 0, nil
	switch base := snowflake(p.Seen); {
	case p.Since != "": // a gap is open already
	case base != 0:
		p.Since = strconv.FormatUint(base-min(base-1, uint64(overlap.Milliseconds())<<22), 10)
	default:
		p.Seen = strconv.FormatUint(first(now), 10)
	}
	p.guilds = map[string]bool{}
	if p.Since != "" {
		for _, g := range guilds {
			p.guilds[g] = true
		}
	}
	p.changed()
	return snowflake(p.Since)
}

// gap counts channels to be looked into, by 1 or -1.
func (p *progress) gap(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps += by
	p.close()
}

// guild notes that a guild's channels are known.
func (p *progress) guild(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.guilds, id)
	p.close()
}

// close ends a gap when nothing is left of it; p.mu is held.
func (p *progress) close() {
	if p.Since != "" && p.gaps == 0 && len(p.guilds) == 0 {
		p.Since = ""
		p.changed()
	}
}

// drop forgets the session: the next one begins anew.
func (p *progress) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ID, p.URL, p.Seq, p.received = "", "", 0, 0
	p.changed()
}

// resume is the session to go on with; id is "" where there is none.
func (p *progress) resume() (id, url string, seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ID, p.URL, p.received
}

// since is where the open gap begins; 0 is none.
func (p *progress) since() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return snowflake(p.Since)
}

// direct remembers a direct conversation.
func (p *progress) direct(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listed[channel] {
		return
	}
	if len(p.dms) >= maxDMs {
		delete(p.listed, p.dms[0])
		p.dms = slices.Delete(p.dms, 0, 1)
	}
	p.dms, p.listed[channel], p.newDMs = append(p.dms, channel), true, true
	p.changed()
}

func (p *progress) directs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dms)
}

// own remembers a role of the bot's.
func (p *progress) own(role string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.Roles, role) {
		p.Roles = append(p.Roles, role)
		p.changed()
	}
}

func (p *progress) roles() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.Roles)
}

// load takes up where an earlier process ended.
func (a *Adapter) load(ctx context.Context) *progress {
	p := newProgress()
	text, err := a.state.Get(ctx, keySession)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &p.saved)
	}
	if err != nil {
		a.log.Warn("gateway session could not be read", "err", err)
		p.saved = saved{}
	}
	if text, err = a.state.Get(ctx, keyDirect); err == nil && text != nil {
		err = json.Unmarshal(text, &p.dms)
	}
	if err != nil {
		a.log.Warn("direct conversations could not be read", "err", err)
		p.dms = nil
	}
	for _, dm := range p.dms {
		p.listed[dm] = true
	}
	// With a gap open a resume would tell only what came after it.
	if p.Since != "" || a.now().Sub(p.At) > sessionLife || a.now().Before(p.At.Add(-sessionLife)) {
		p.ID, p.URL, p.Seq = "", "", 0
	}
	if p.ID == "" {
		p.Seq = 0 // of one that is gone
	}
	p.received = p.Seq
	return p
}

// save works on while the process is stopping.
func (a *Adapter) save(ctx context.Context, p *progress) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	p.mu.Lock()
	p.At = a.now()
	text, err := json.Marshal(p.saved)
	var dms []byte
	if p.newDMs && err == nil {
		dms, err = json.Marshal(p.dms)
		p.newDMs = false
	}
	p.mu.Unlock()
	// Conversations first: what is said in them counts as seen then.
	if err == nil && dms != nil {
		if err = channels.Put(ctx, a.state, keyDirect, dms); err != nil {
			p.mu.Lock()
			p.newDMs = true
			p.mu.Unlock()
		}
	}
	if err == nil {
		err = channels.Put(ctx, a.state, keySession, text)
	}
	if err != nil {
		a.log.Warn("gateway session could not be saved", "err", err)
	}
}

// keep saves whatever changes, until ctx ends.
func (a *Adapter) keep(ctx context.Context, p *progress) {
	for {
		select {
		case <-p.dirty:
			a.save(ctx, p)
		case <-ctx.Done():
			return
		}
		if channels.Rest(ctx, saveEvery) != nil {
			return
		}
	}
}
