package app

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/httpserver"
)

// grace is how long a channel that lost its connection still counts as ready:
// connections are lost every day and are back in a second.
const grace = time.Minute

// health knows which channels receive, and why the others don't.
type health struct {
	now     func() time.Time
	changed chan struct{} // has room for one signal

	mu     sync.Mutex
	state  map[string]standing
	gauge  *prometheus.GaugeVec
	states *prometheus.GaugeVec
	starts *prometheus.CounterVec
	// lastIn and lastOut are when something was accepted, and sent.
	lastIn, lastOut *prometheus.GaugeVec
}

// standing is how a channel stands.
type standing struct {
	link channels.Link
	// bad is when it ceased to be up, upSince when it came up last.
	bad, upSince time.Time
	was          bool // it was up before
	stood        bool // it stood by before
	endless      bool // its Run doesn't end
	assumed      bool // it is up because it was started: it doesn't say more
	ended        bool // there is nothing more to receive
	pairs        bool // a person has to link a device to it
	in, out      time.Time
	trouble      *httpserver.ChannelError // the last one
}

func (s standing) up() bool { return s.link.State == channels.LinkUp }

// lasting tells whether it ends only when a person does something.
func (s standing) lasting() bool { return s.endless || s.link.State.Lasting() }

func newHealth(instances []instance, reg prometheus.Registerer) *health {
	h := &health{
		now: time.Now, changed: make(chan struct{}, 1), state: map[string]standing{},
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_channel_up", Help: "1 while the channel receives.",
		}, []string{"channel"}),
		states: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_channel_state", Help: "1 for the state that the channel is in.",
		}, []string{"channel", "state"}),
		starts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_channel_reconnects_total", Help: "Times a channel had to be started or connected again.",
		}, []string{"channel"}),
		lastIn: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_channel_last_inbound_timestamp_seconds", Help: "When the channel's last message or press was accepted, in seconds since 1970; 0 where none was since the start.",
		}, []string{"channel"}),
		lastOut: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_channel_last_outbound_timestamp_seconds", Help: "When the platform took the channel's last message or edit, in seconds since 1970; 0 where it took none since the start.",
		}, []string{"channel"}),
	}
	reg.MustRegister(h.gauge, h.states, h.starts, h.lastIn, h.lastOut)
	for _, in := range instances {
		h.starts.WithLabelValues(in.name)
		h.lastIn.WithLabelValues(in.name)
		h.lastOut.WithLabelValues(in.name)
		_, pairs := in.adapter.(channels.Pairer)
		h.set(in.name, standing{link: channels.Link{State: channels.LinkConnecting, Detail: "starting"}, bad: h.now(), pairs: pairs})
	}
	return h
}

// set is told under the lock, or before anybody asks.
func (h *health) set(name string, s standing) {
	h.state[name] = s
	for _, st := range channels.LinkStates() {
		h.states.WithLabelValues(name, string(st)).Set(boolean(st == s.link.State))
	}
	h.gauge.WithLabelValues(name).Set(boolean(s.up()))
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// linked takes what an adapter says of its connection.
func (h *health) linked(name string, l channels.Link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change(name, l, false)
}

// change is linked; h.mu is held. assumed is for who doesn't say more than
// that it was started.
func (h *health) change(name string, l channels.Link, assumed bool) {
	s := h.state[name]
	now := h.now()
	switch {
	case l.State == channels.LinkUp && !s.up():
		if s.was {
			h.starts.WithLabelValues(name).Inc()
		}
		s.was, s.upSince, s.assumed = true, now, assumed
	case l.State != channels.LinkUp && s.up() && (!s.assumed || now.Sub(s.upSince) >= grace):
		// One that fails soon after each start has been bad all the time.
		s.bad = now
	case s.link.State == channels.LinkStandby && l.State != channels.LinkStandby:
		s.bad = now
	}
	s.stood = s.stood || l.State == channels.LinkStandby
	if l.State == channels.LinkFailed || l.State.Lasting() {
		s.trouble = &httpserver.ChannelError{At: now.UTC(), Doing: "receive", Class: string(l.State)}
	}
	s.link, s.ended, s.endless = l, false, false
	h.set(name, s)
}

// up is for adapters that don't say how they stand: they receive while they
// run.
func (h *health) up(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change(name, channels.Link{State: channels.LinkUp}, true)
}

// down is an adapter that has ended, with an error or because there is nothing
// more to receive. What a person has to mend, as the adapter said, stays the
// state while it is tried again.
func (h *health) down(name string, err error) {
	l := channels.Link{State: channels.LinkFailed, Detail: "ended"}
	if err != nil {
		l.Detail = err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.state[name].link.State.Lasting() {
		return
	}
	before := h.state[name].trouble
	h.change(name, l, false)
	s := h.state[name]
	s.ended = err == nil
	if se, ok := errors.AsType[*channels.SendError](err); ok {
		s.trouble.Class = string(se.Class)
	}
	if s.ended {
		s.trouble = before
	}
	h.set(name, s)
}

// stuck is a Run that doesn't heed its end: another can't be started.
func (h *health) stuck(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change(name, channels.Link{State: channels.LinkFailed, Detail: "doesn't end: restart parley"}, false)
	s := h.state[name]
	s.endless = true
	h.set(name, s)
}

// heard is told that something of the channel was accepted.
func (h *health) heard(name string) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state[name]
	s.in = now
	h.state[name] = s
	h.lastIn.WithLabelValues(name).Set(seconds(now))
}

// sent is told how a send or an edit ended.
func (h *health) sent(name string, err error) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state[name]
	if err != nil {
		s.trouble = &httpserver.ChannelError{At: now.UTC(), Doing: "send", Class: string(channels.ClassOf(err))}
	} else {
		s.out = now
		h.lastOut.WithLabelValues(name).Set(seconds(now))
	}
	h.state[name] = s
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// pairing says whether a device is linked, where the channel needs one; "" is
// not known yet.
func (s standing) pairing() string {
	switch {
	case !s.pairs:
	case s.link.State == channels.LinkPairing, s.link.State == channels.LinkLoggedOut:
		return "needed"
	case s.was:
		return "linked"
	}
	return ""
}

// standings are all channels as they stand.
func (h *health) standings() map[string]standing {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.state)
}

// report is what /readyz shows.
func (h *health) report() map[string]httpserver.ChannelState {
	out := map[string]httpserver.ChannelState{}
	for name, s := range h.standings() {
		brief := (s.was || s.stood) && s.link.State == channels.LinkConnecting && h.now().Sub(s.bad) < grace
		c := httpserver.ChannelState{Up: s.up() || brief, State: string(s.link.State), Detail: s.link.Detail,
			LastInbound: s.in.UTC(), LastOutbound: s.out.UTC(), LastError: s.trouble, Pairing: s.pairing()}
		if s.up() {
			c.ConnectedSince = s.upSince.UTC()
		}
		if !s.link.Until.IsZero() {
			c.Detail += " (until " + s.link.Until.UTC().Format(time.RFC3339) + ")"
		}
		out[name] = c
	}
	return out
}
