package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/turn"
)

// modelSteps is how many steps one randomized comparison has.
const modelSteps = 500

func modelTests() (all []test) {
	for seed := range uint64(modelSeeds) {
		all = append(all, test{fmt.Sprint("model_seed_", seed), func(b *bench) {
			m := newModel(b, seed)
			for i := range modelSteps {
				m.step(i)
				m.compare()
			}
			m.drain()
		}})
	}
	return all
}

// model is what the store should hold, for private chats of one person each.
type model struct {
	*bench
	rnd   *rand.Rand
	lanes []*mlane
	asked []*mquestion // all ever
	trace []string     // the last operations, for the message of a failure
}

// mlane is a lane, its chat's outbox and log.
type mlane struct {
	p     inboxPlace
	queue []string // texts that wait, the head among them until it is saved
	turn  *mturn
	hold  *work // who works on it
	stale bool  // and was cut off
	out   []*mentry
	going int // index of the entry that is being sent, or -1
	logs  int
}

// mturn is a saved turn.
type mturn struct {
	id string
	q  *mquestion // its newest
}

func (t *mturn) parked() bool { return t != nil && t.q != nil && t.q.pending }

// mquestion is a question: entries first to last of its lane's outbox.
type mquestion struct {
	lane        *mlane
	asked       asked
	first, last int
	pending     bool
	delivered   bool
	expires     time.Time
}

// mentry is an entry of the outbox.
type mentry struct {
	text   string
	state  string // queued, sending, sent, failed, withdrawn
	target int    // index of the entry that it edits, or -1
	q      *mquestion
	due    time.Time
}

func (e *mentry) open() bool { return e.state == "queued" || e.state == "sending" }

func newModel(b *bench, seed uint64) *model {
	m := &model{bench: b, rnd: rand.New(rand.NewPCG(seed, 7))}
	for i := range 4 {
		m.lanes = append(m.lanes, &mlane{p: alone(fmt.Sprint("chat", i)), going: -1})
	}
	return m
}

// step does one random thing to one random chat.
func (m *model) step(i int) {
	l := m.lanes[m.rnd.IntN(len(m.lanes))]
	ops := []struct {
		name   string
		weight int
		do     func(*mlane)
	}{
		{"text", 12, m.text}, {"press", 4, m.press}, {"claim", 12, m.claim}, {"work", 16, m.work}, {"send", 24, m.send},
		{"time", 3, m.time}, {"expire", 3, m.expire}, {"reset", 1, m.reset}, {"cancel", 1, m.cancel}, {"crash", 1, m.crash},
	}
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	n := m.rnd.IntN(total)
	for _, op := range ops {
		if n -= op.weight; n < 0 {
			m.trace = append(m.trace, fmt.Sprintf("%d %s %s", i, op.name, l.p.Lane))
			m.trace = m.trace[max(0, len(m.trace)-25):]
			op.do(l)
			return
		}
	}
}

// mustf fails the test where the store and the model disagree.
func (m *model) mustf(ok bool, format string, args ...any) {
	m.Helper()
	if !ok {
		m.Fatalf("%s\nafter %v", fmt.Sprintf(format, args...), m.trace)
	}
}

func (l *mlane) hasWork() bool { return !l.turn.parked() && (l.turn != nil || len(l.queue) > 0) }

// firstOpen is the index of the first entry that still waits, or -1.
func (l *mlane) firstOpen() int {
	for i, e := range l.out {
		if e.open() {
			return i
		}
	}
	return -1
}

// compare checks the counts that tell most.
func (m *model) compare() {
	m.Helper()
	var lanes, questions, pending int
	for _, l := range m.lanes {
		if l.hasWork() {
			lanes++
		}
		if l.turn.parked() {
			questions++
		}
		if i := l.firstOpen(); i >= 0 {
			pending += len(l.out) - i
		}
	}
	gotLanes, gotQuestions, err := m.Store.Waiting(m.Context())
	m.mustf(err == nil && gotLanes == lanes && gotQuestions == questions,
		"%d lanes with work and %d questions, want %d and %d, error %v", gotLanes, gotQuestions, lanes, questions, err)
	gotPending, err := m.Store.Pending(m.Context())
	m.mustf(err == nil && gotPending == pending, "%d entries pending, want %d, error %v", gotPending, pending, err)
}

// drain lets everything come to its end: nothing may be left or lost.
func (m *model) drain() {
	m.Helper()
	m.Advance(48 * time.Hour)
	m.expire(nil)
	for _, l := range m.lanes {
		for l.hold != nil || l.hasWork() {
			m.claim(l)
			m.end(l)
		}
		for l.going >= 0 || l.firstOpen() >= 0 {
			m.sendAs(l, "sent")
		}
		m.mustf(len(m.log(l.p)) == l.logs, "%d log entries in %s, want %d", len(m.log(l.p)), l.p.Lane, l.logs)
		m.idle(l.p.Lane)
	}
	m.compare()
}

// add appends to the outbox, as the store should number it.
func (m *model) add(l *mlane, q *mquestion, target int, own bool, spoke turn.Spoke, texts ...string) {
	m.Helper()
	if len(texts) == 0 {
		m.mustf(spoke == turn.Spoke{}, "said nothing, and yet %+v", spoke)
		return
	}
	born := own && l.firstOpen() < 0
	if target < 0 && own {
		m.mustf(spoke.Seq == int64(len(l.out)+1) && spoke.Born == born, "said %+v, want seq %d, born %v", spoke, len(l.out)+1, born)
	}
	for i, text := range texts {
		e := &mentry{text: text, state: "queued", target: target, q: q}
		if i == 0 && born {
			e.state = "sending"
			l.going = len(l.out)
		}
		l.out = append(l.out, e)
	}
}

// entry compares an entry that the store gave for sending.
func (m *model) given(l *mlane, i int, e outbox.Entry) {
	m.Helper()
	want := l.out[i]
	var target channels.MessageID
	if want.target >= 0 && l.out[want.target].state == "sent" {
		target = platformID(outbox.Entry{Seq: int64(want.target + 1)})
	}
	m.mustf(e.Seq == int64(i+1) && e.Part.Text == want.text && e.Target == target && (e.Kind == outbox.Edit) == (want.target >= 0),
		"given %+v, want entry %d, %+v, target %q", e, i+1, want, target)
}
