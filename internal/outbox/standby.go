package outbox

// Sends tells whether this process sends for the channel now.
func (o *Outbox) Sends(channel string) bool {
	a := o.accounts[channel]
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.standby
}

// Resume begins to send for a channel, after Suspend or from Standby on.
func (o *Outbox) Resume(channel string) {
	a := o.accounts[channel]
	if a == nil {
		return
	}
	a.mu.Lock()
	a.standby, a.cursor = false, ""
	a.wakeAll()
	for range min(a.queued, o.cfg.Senders) {
		a.summon()
	}
	a.mu.Unlock()
	o.Look()
}

// Suspend begins no further send for a channel: another process may do so now.
// A platform call under way goes on. What is marked as sending and wasn't sent
// stays marked, for the other process may be at it; of what came of a send,
// only that it was sent is kept.
func (o *Outbox) Suspend(channel string) {
	a := o.accounts[channel]
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.standby = true
	a.head, a.tail, a.queued = nil, nil, 0
	for key, c := range a.chats {
		switch {
		case c.busy: // settle sees to it
		case c.outcome != nil && c.outcome.do == doSent:
			if c.rest == nil {
				a.push(c)
			}
		default:
			if c.rest != nil {
				c.rest.Stop() // where it is just firing, it finds that it is over
				c.rest = nil
				a.resting--
			}
			c.entry = nil
			delete(a.chats, key)
		}
	}
	a.wakeAll()
}

// Look lets the store be asked for chats that nobody told of, soon.
func (o *Outbox) Look() { poke(o.scan) }
