package platforms

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/postgrestest"
)

// TestReplicas_G3: two processes on one PostgreSQL with the same account. One
// receives, where the platform serves only one, and one sends; both are ready.
// It goes in the middle of a question, and the other takes its place: the
// answer counts there, and the tool runs once.
func TestReplicas_G3_OneGoesInTheMiddleOfAQuestion(t *testing.T) {
	t.Parallel()
	for name, on := range open() {
		if name == "console" {
			continue // a terminal is one process's
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, m, url := on(t), newMind(), postgrestest.URL(t)
			work := &shop{}
			begin := func() *bot {
				b := &bot{t: t, on: []platform{p}, model: m, store: url}
				b.tools = append(b.tools, placeOrder(work))
				b.start()
				return b
			}
			first := begin()
			say(t, p, 1, "hello", "You said: hello")
			second := begin()
			ready(t, first, second)
			say(t, p, 1, "both", "You said: both")
			p.say(1, "order 2")
			questioned(t, second)
			first.stop()
			q := p.shown(1)[2]
			if len(q.buttons) > 0 {
				p.press(1, q, q.buttons[0])
			} else {
				p.say(1, "yes")
			}
			if !until(t.Context(), func() bool { return len(p.shown(1)) == 4 }) {
				t.Fatalf("no answer to the yes: %v", p.shown(1))
			}
			if got := p.shown(1)[3].text; got != "Order 1 is placed." || work.count() != 1 {
				t.Errorf("%q after %d orders", got, work.count())
			}
			say(t, p, 1, "alone", "You said: alone")
			if code, body := fetch(t, second, "/readyz"); code != http.StatusOK || strings.Contains(body, `"standby"`) {
				t.Errorf("/readyz says %d, %s", code, body)
			}
			for _, w := range p.wrong() {
				t.Error(w)
			}
		})
	}
}

// ready waits until both are: the first is up, and the second too, or it stands
// by.
func ready(t *testing.T, first, second *bot) {
	t.Helper()
	var one, other string
	if !until(t.Context(), func() bool {
		var code1, code2 int
		code1, one = fetch(t, first, "/readyz")
		code2, other = fetch(t, second, "/readyz")
		return code1 == http.StatusOK && code2 == http.StatusOK && strings.Contains(one, `"state":"up"`) &&
			(strings.Contains(other, `"state":"up"`) || strings.Contains(other, `"state":"standby"`))
	}) {
		t.Fatalf("they say %s and %s", one, other)
	}
}

// questioned waits until the question counts as seen.
func questioned(t *testing.T, b *bot) {
	t.Helper()
	cfg, err := config.Load(b.file(), app.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	s, err := app.Reader(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !until(t.Context(), func() bool {
		rows, err := s.ListQuestions(t.Context(), false, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(rows) == 1 && !rows[0].Delivered.IsZero()
	}) {
		t.Fatal("nothing was asked")
	}
}
