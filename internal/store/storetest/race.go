package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
)

func raceTests() []test {
	return []test{
		{"B26_press_races_text_and_expiry", raceAnswer},
		{"B5_reset_races_finish_and_answer", raceReset},
		{"B27_text_races_the_question", raceAsk},
		{"G2_one_claim_of_many_wins", raceClaim},
	}
}

// raceAnswer lets two presses, a typed text and the expiry of one question
// meet: exactly one of them may count, and the lane must go on from there.
func raceAnswer(b *bench) {
	questions := make([]asked, rounds)
	for i := range questions {
		questions[i] = b.question(alone(fmt.Sprint("chat", i)), "ana")
	}
	b.Advance(timeout - 1)
	var expired sync.Map
	stop := make(chan struct{})
	var sweeps, chats sync.WaitGroup
	sweeps.Go(func() {
		for end := false; !end; {
			select {
			case <-stop:
				end = true
			default:
			}
			ended, _, err := b.Store.Expire(b.Context(), 7)
			if err != nil {
				b.Error(err)
				return
			}
			for _, e := range ended {
				if _, twice := expired.LoadOrStore(e.Lane, true); twice {
					b.Errorf("%s expired twice", e.Lane)
				}
			}
			end = end && len(ended) == 0
		}
	})
	answers := make([]atomic.Int64, rounds)
	late := make(chan struct{})
	for i, q := range questions {
		for _, d := range []inbox.Delivery{
			b.press(q, q.place, "ana", confirm.ValueYes), b.press(q, q.place, "ana", confirm.ValueNo), b.text(q.place, "ana", "no"),
		} {
			chats.Go(func() {
				if i%2 == 1 {
					<-late // these meet the expiry
				}
				acc, err := b.Store.Accept(b.Context(), d)
				if err != nil {
					b.Error(err)
				}
				if acc.Outcome == inbox.AnsweredQuestion {
					answers[i].Add(1)
				}
			})
		}
	}
	chats.Go(func() { b.Advance(1); close(late) })
	chats.Wait()
	close(stop)
	sweeps.Wait()
	for i, q := range questions {
		_, timedOut := expired.Load(q.place.Lane)
		n := answers[i].Load()
		if timedOut {
			n++
		}
		if n != 1 {
			b.Fatalf("question %d was resolved %d times (expired: %v)", i, n, timedOut)
		}
		if !timedOut {
			check(b, "turn", b.begin(q.place).id, q.id)
		}
	}
}

// raceReset lets a turn's end meet /reset: either its reply is there and the
// history empty, or it left nothing.
func raceReset(b *bench) {
	for i := range rounds / 10 {
		p := alone(fmt.Sprint("chat", i))
		b.say(p, "ana", "hi", inbox.Queued)
		w := b.begin(p)
		c := b.commanding(p, inbox.ActReset, "forgotten")
		var both sync.WaitGroup
		var finished bool
		both.Go(func() {
			_, err := b.Store.Finish(b.Context(), w.Lane, w.finish("hello"))
			finished = err == nil
			if err != nil {
				b.lost("finish", err)
			}
		})
		both.Go(func() {
			if _, err := b.Store.Command(b.Context(), c); err != nil {
				b.Error(err)
			}
		})
		both.Wait()
		want := 1
		if finished {
			want = 2
		} else {
			b.release(w.Lane)
		}
		check(b, "sent", len(b.send(p)), want)
		b.idle(p.Lane)
		b.say(p, "ana", "hi again", inbox.Queued)
		check(b, "history", len(b.peek(p.Lane).History), 0)
	}
}

// raceAsk lets a text meet the question: it comes back from the step, or
// answers the question unseen, but is never a yes.
func raceAsk(b *bench) {
	for i := range rounds / 10 {
		p := alone(fmt.Sprint("chat", i))
		b.say(p, "ana", "order a cake", inbox.Queued)
		w := b.begin(p)
		st := b.question1(&w)
		d := b.text(p, "ana", "yes")
		var both sync.WaitGroup
		var outcome inbox.Outcome
		var waiting int
		both.Go(func() {
			out, err := b.Store.Step(b.Context(), w.Lane, st)
			if err != nil {
				b.Error(err)
			}
			waiting = len(out.Texts)
		})
		both.Go(func() {
			acc, err := b.Store.Accept(b.Context(), d)
			if err != nil {
				b.Error(err)
			}
			outcome = acc.Outcome
		})
		both.Wait()
		switch {
		case waiting == 1 && outcome == inbox.Queued:
			b.release(w.Lane)
		case waiting == 0 && outcome == inbox.AnsweredQuestion:
			check(b, "unseen", b.peek(p.Lane).Saved.Wait.Answer.Outcome, confirm.Replied)
		default:
			b.Fatalf("the step returned %d texts, the text was %s", waiting, outcome)
		}
	}
}

func raceClaim(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "hi", inbox.Queued)
	for range 50 {
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				l, ok, err := b.Store.Claim(b.Context(), p.Lane)
				if err != nil {
					b.Error(err)
				}
				if !ok {
					return
				}
				if won.Add(1) > 1 {
					b.Error("two claims of one lane at once")
				}
				won.Add(-1)
				if err := b.Store.Release(b.Context(), l); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	b.release(b.claim(p.Lane))
}
