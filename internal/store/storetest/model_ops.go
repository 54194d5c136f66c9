package storetest

import (
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/turn"
)

type inboxPlace = inbox.Place

// text is a person's message: an answer where one is waited for.
func (m *model) text(l *mlane) {
	d := m.bench.text(l.p, "ana", fmt.Sprint("text", m.id()))
	d.Class = []confirm.Class{confirm.Yes, confirm.No, confirm.Other}[m.rnd.IntN(3)]
	acc := m.accept(d)
	l.logs++
	if l.turn.parked() && m.Store.Now().Before(l.turn.q.expires) {
		q := l.turn.q
		want := confirm.Replied
		if q.delivered && d.Class == confirm.Yes {
			want = confirm.Approved
		} else if q.delivered && d.Class == confirm.No {
			want = confirm.Denied
		}
		m.mustf(acc.Outcome == inbox.AnsweredQuestion && acc.Wake && acc.Resolved.Outcome == string(want), "text to a question: %+v, want %s", acc, want)
		m.over(q, want == confirm.Approved, want == confirm.Denied)
		return
	}
	l.queue = append(l.queue, d.In.Text)
	m.mustf(acc.Outcome == inbox.Queued && acc.Wake == l.hasWork(), "text: %+v", acc)
}

// over is what the end of a question does to the outbox.
func (m *model) over(q *mquestion, yes, no bool) {
	q.pending = false
	l := q.lane
	for _, e := range l.out[q.first : q.last+1] {
		if e.state == "queued" {
			e.state = "withdrawn"
		}
	}
	if last := l.out[q.last]; last.state == "sending" || last.state == "sent" {
		text := "Place order?"
		if yes {
			text += "\n→ Yes"
		}
		if no {
			text += "\n→ No"
		}
		m.add(l, nil, q.last, false, turn.Spoke{}, text)
	}
}

// press presses a button of any question there ever was.
func (m *model) press(*mlane) {
	if len(m.asked) == 0 {
		return
	}
	q := m.asked[m.rnd.IntN(len(m.asked))]
	acc := m.accept(m.bench.press(q.asked, q.lane.p, "ana", confirm.ValueYes))
	if q.pending && m.Store.Now().Before(q.expires) {
		m.mustf(acc.Outcome == inbox.AnsweredQuestion && acc.Wake, "press: %+v", acc)
		m.over(q, true, false)
		return
	}
	m.mustf(acc.Outcome == inbox.Stale && !acc.Wake, "press of an old question: %+v", acc)
}

// claim lets somebody work on the lane, if there is work.
func (m *model) claim(l *mlane) {
	got, ok, err := m.Store.Claim(m.Context(), l.p.Lane)
	want := l.hold == nil && l.hasWork()
	m.mustf(err == nil && ok == want, "claim: %v, want %v, error %v", ok, want, err)
	if !ok {
		return
	}
	w := work{Lane: got, Work: m.load(got), place: l.p, user: "ana"}
	if l.turn != nil {
		m.mustf(w.Saved != nil && w.Saved.ID == l.turn.id, "claimed %+v, want turn %s", w.Saved, l.turn.id)
		w.id, w.from, w.to = w.Saved.ID, w.Saved.SeqFrom, w.Saved.SeqTo
	} else {
		m.mustf(w.Saved == nil && w.Queue[0].In.Text == l.queue[0], "claimed %+v, want %s", w.Work, l.queue[0])
		w.from, w.to = w.Queue[0].Seq, w.Queue[0].Seq
	}
	l.hold, l.stale = &w, false
}

// work lets who has the lane do the next thing.
func (m *model) work(l *mlane) {
	if l.hold == nil {
		return
	}
	switch n := m.rnd.IntN(10); {
	case l.stale || n < 4:
		m.end(l)
	case n < 6:
		m.save(l, nil)
	case n < 9:
		m.question(l)
	default:
		m.release(l.hold.Lane)
		l.hold = nil
	}
}

// end finishes the turn in hand.
func (m *model) end(l *mlane) {
	f := l.hold.finish("")
	var said []string
	for range m.rnd.IntN(3) {
		said = append(said, fmt.Sprint("reply", m.id()))
		f.Say = append(f.Say, channels.Part{Chat: l.p.Chat, Text: said[len(said)-1]})
	}
	out, err := m.Store.Finish(m.Context(), l.hold.Lane, f)
	if l.stale {
		m.lost("finish", err)
		m.release(l.hold.Lane)
		l.hold = nil
		return
	}
	m.mustf(err == nil, "finish: %v", err)
	if l.turn == nil {
		l.queue = l.queue[1:]
	}
	l.hold, l.turn = nil, nil
	m.mustf(out.More == l.hasWork(), "finished: more %v, want %v", out.More, l.hasWork())
	m.add(l, nil, -1, true, out.Spoke, said...)
}

// save commits a step that takes messages along.
func (m *model) save(l *mlane, take []turn.Input) {
	st := m.bench.step(l.hold)
	for _, in := range take {
		st.Take = append(st.Take, in.Seq)
	}
	m.commit(*l.hold, st)
	if l.turn == nil {
		l.turn = &mturn{id: l.hold.id}
		l.queue = l.queue[1:]
	}
	l.queue = l.queue[len(take):]
}

// question asks, unless texts came first.
func (m *model) question(l *mlane) {
	st := m.question1(l.hold)
	if m.rnd.IntN(3) == 0 {
		inParts(&st)
	}
	out := m.commit(*l.hold, st)
	behind := l.queue
	if l.turn == nil {
		behind = behind[1:]
	}
	m.mustf(len(out.Texts) == len(behind), "asking gave %d texts, want %d", len(out.Texts), len(behind))
	if len(behind) > 0 {
		if l.turn == nil {
			l.hold.id = "" // nothing was saved
		}
		m.save(l, out.Texts)
		return
	}
	q := &mquestion{lane: l, pending: true, first: len(l.out), last: len(l.out) + len(st.Say) - 1, expires: m.Store.Now().Add(time.Hour)}
	q.asked = asked{Wait: st.Wait, work: *l.hold}
	var said []string
	for _, p := range st.Say {
		said = append(said, p.Text)
	}
	spoke := out.Spoke
	spoke.Asks = 0
	m.add(l, q, -1, true, spoke, said...)
	l.queue, l.turn, l.hold = behind, &mturn{id: l.hold.id, q: q}, nil
	m.asked = append(m.asked, q)
}

// send does the next thing to the chat's outbox.
func (m *model) send(l *mlane) {
	m.sendAs(l, []string{"sent", "sent", "sent", "retry", "unknown", "failed"}[m.rnd.IntN(6)])
}

func (m *model) sendAs(l *mlane, how string) {
	if l.going < 0 {
		e, ok, _, err := m.Store.Next(m.Context(), l.p.ChatKey)
		i := l.firstOpen()
		want := i >= 0 && !l.out[i].due.After(m.Store.Now())
		m.mustf(err == nil && ok == want, "next: %v, want %v, error %v", ok, want, err)
		if ok {
			m.given(l, i, e)
			l.out[i].state, l.going = "sending", i
		}
		return
	}
	i := l.going
	e := l.out[i]
	given := entryOf(l.p, int64(i+1), e.text)
	if e.target >= 0 {
		given.Kind, given.Target = outbox.Edit, "whatever"
	}
	l.going = -1
	switch how {
	case "sent":
		next, ok := m.sent(given)
		m.left(l, i)
		n := l.firstOpen()
		want := n >= 0 && !l.out[n].due.After(m.Store.Now())
		m.mustf(ok == want, "next after %d: %v, want %v", i+1, ok, want)
		if ok {
			m.given(l, n, next)
			l.out[n].state, l.going = "sending", n
		}
	case "retry", "unknown":
		m.retry(given, time.Second, how == "unknown")
		e.state, e.due = "queued", m.Store.Now().Add(time.Second)
		if e.q != nil && !e.q.pending {
			e.state = "withdrawn"
		}
	case "failed":
		f := m.failed(given, false)
		e.state = "failed"
		if e.q != nil && e.q.pending {
			m.over(e.q, false, false)
			l.turn = nil
			m.mustf(f.Lane == l.p.Lane && f.Ready == l.hasWork(), "failed question: %+v", f)
		}
		m.mustf(f.More == (l.firstOpen() >= 0), "failed: %+v", f)
	}
}

// left is what a sent entry means to its question and the log.
func (m *model) left(l *mlane, i int) {
	e := l.out[i]
	e.state = "sent"
	l.logs++
	if now := m.Store.Now(); e.q != nil && e.q.pending && i == e.q.last && now.Before(e.q.expires) {
		e.q.delivered, e.q.expires = true, now.Add(timeout)
	}
}

func (m *model) time(*mlane) { m.Advance(time.Duration(m.rnd.IntN(90_000)) * time.Millisecond) }

func (m *model) expire(*mlane) {
	want := map[string]bool{}
	for _, l := range m.lanes {
		if l.turn.parked() && !m.Store.Now().Before(l.turn.q.expires) {
			want[l.p.Lane] = true
			m.over(l.turn.q, false, false)
			l.turn = nil
		}
	}
	ended, _, err := m.Store.Expire(m.Context(), 100)
	m.mustf(err == nil && len(ended) == len(want), "expired %v, want %v, error %v", ended, want, err)
	for _, e := range ended {
		m.mustf(want[e.Lane], "%s expired", e.Lane)
	}
}

// cut ends the turn from outside.
func (m *model) cut(l *mlane) {
	if l.turn.parked() {
		m.over(l.turn.q, false, false)
	}
	l.turn, l.stale = nil, l.hold != nil
}

func (m *model) reset(l *mlane) {
	m.command(l.p, inbox.ActReset, "forgotten")
	m.cut(l)
	l.queue = nil
	l.logs++
	m.add(l, nil, -1, false, turn.Spoke{}, "forgotten")
}

func (m *model) cancel(l *mlane) {
	acc := m.command(l.p, inbox.ActCancel, "stopped")
	l.logs++
	said := "stopped"
	switch {
	case l.turn != nil:
		m.cut(l)
	case len(l.queue) > 0:
		m.cut(l)
		l.queue = l.queue[1:]
	default:
		said = "nothing to do"
	}
	m.mustf(acc.Did == (said == "stopped"), "cancel: %+v", acc)
	m.add(l, nil, -1, false, turn.Spoke{}, said)
}

// crash ends the process: claims are gone, and nobody knows what was sent.
func (m *model) crash(*mlane) {
	m.reopen(true)
	m.lapse()
	for _, l := range m.lanes {
		l.hold, l.going = nil, -1
	}
}
