package platforms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPresses_B20_AckedWhileTheModelIsSlow: every worker waits for a model
// that doesn't answer, and presses come 200 a second. Each is acknowledged
// exactly once, while the model still says nothing: what follows on the answer
// comes later. How long it took is logged, for a busy machine takes longer.
func TestPresses_B20_AckedWhileTheModelIsSlow(t *testing.T) { //nolint:paralleltest // it measures: no other test of the package runs meanwhile
	const (
		askers, workers, presses = 40, 8, 600
		every                    = time.Second / 200
	)
	for _, mode := range []string{"polling", "webhook"} {
		t.Run(mode, func(t *testing.T) {
			p := newTelegram(t, mode)
			released := make(chan struct{})
			m := newMind()
			m.stuck = released
			s := &shop{}
			b := &bot{t: t, on: []platform{p}, model: m, more: fmt.Sprintf("confirm: {timeout: 1h}\nlimits: {per_user: 100000/1m, workers: %d}", workers)}
			b.tools = append(b.tools, placeOrder(s))
			b.start()
			questions := ask(t, p, askers)
			for i := range workers {
				p.say(person(1000+i), "wait for it")
			}
			if !until(t.Context(), func() bool { return m.waiting() == workers }) {
				t.Fatalf("%d of %d workers wait for the model", m.waiting(), workers)
			}
			pressed := make(map[string]time.Time, presses)
			tick := time.NewTicker(every)
			defer tick.Stop()
			for i := range presses {
				<-tick.C
				q := questions[i%askers]
				at := time.Now()
				pressed[p.fake.Press(p.user(person(1+i%askers)).ID, q.id, p.user(person(1+i%askers)), q.button)] = at
			}
			acks := func() []call { return p.seen("/answerCallbackQuery") }
			if !until(t.Context(), func() bool { return len(acks()) >= presses }) {
				t.Fatalf("%d of %d presses were acknowledged", len(acks()), presses)
			}
			if s.count() != 0 || m.waiting() != workers {
				t.Errorf("%d orders and %d waiting workers: the model was not slow", s.count(), m.waiting())
			}
			took := delays(t, p, pressed)
			p50, p99, worst := took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
			t.Logf("%d presses acknowledged: half within %s, 99 of 100 within %s, all within %s", len(took), p50, p99, worst)
			close(released)
			if !until(t.Context(), func() bool { return s.count() == askers }) {
				t.Errorf("%d orders, want %d: one for each question", s.count(), askers)
			}
			if w := p.wrong(); len(w) > 0 {
				t.Errorf("the platform found %q", w[0])
			}
		})
	}
}

// asked is a question as it is pressed.
type asked struct {
	id     int64
	button string
}

// ask lets as many people order, and returns the questions.
func ask(t *testing.T, p *telegramPeople, people int) []asked {
	t.Helper()
	out := make([]asked, people)
	for i := range out {
		p.say(person(1+i), "order 2")
	}
	for i := range out {
		if !until(t.Context(), func() bool {
			for _, m := range p.fake.Messages(p.user(person(1 + i)).ID) {
				if len(m.Buttons) > 0 {
					out[i] = asked{m.ID, m.Buttons[0].Data}
				}
			}
			return out[i].id != 0
		}) {
			t.Fatalf("person %d was not asked", i)
		}
	}
	return out
}

// delays are the times from presses to their acknowledgements, sorted. Each
// press has exactly one.
func delays(t *testing.T, p *telegramPeople, pressed map[string]time.Time) (out []time.Duration) {
	t.Helper()
	seen := map[string]int{}
	for _, c := range p.seen("/answerCallbackQuery") {
		all, err := params(c)
		if err != nil {
			t.Fatal(err)
		}
		id := strings.Trim(fmt.Sprint(all["callback_query_id"]), `"`)
		at, ok := pressed[id]
		if seen[id]++; !ok || seen[id] > 1 || c.code != 200 {
			t.Errorf("press %q was acknowledged %d times, answered %d", id, seen[id], c.code)
			continue
		}
		out = append(out, max(0, c.at.Sub(at)))
	}
	if len(out) != len(pressed) {
		t.Errorf("%d presses of %d were acknowledged", len(out), len(pressed))
	}
	slices.Sort(out)
	return out
}
