//go:build unix

package crash

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// talk is a person with something to do. Its first error ends it: later calls
// do nothing. What the bot claims to have done is kept for the reckoning.
type talk struct {
	*person
	err    error
	claims map[string]claim
	// doubts counts what the bot couldn't tell.
	doubts int
	// news counts what was heard, for who looks on.
	news atomic.Int64
}

// claim is what the bot said of an order.
type claim string

const (
	ordered claim = "ordered"
	inDoubt claim = "in doubt"
	nothing claim = "nothing"
)

func newTalk(p *person) *talk { return &talk{person: p, claims: map[string]claim{}} }

func (k *talk) do(fn func() error) {
	if k.err == nil {
		k.err = fn()
	}
}

func (k *talk) failf(format string, args ...any) {
	if k.err == nil {
		k.err = fmt.Errorf(format, args...)
	}
}

// says sends a text.
func (k *talk) says(text string) { k.do(func() error { return k.say(text) }) }

// hears expects the bot's next message to be one of want.
func (k *talk) hears(want ...string) (got string) {
	k.do(func() error {
		e, err := k.hear()
		k.news.Add(1)
		if err == nil && !slices.Contains(want, e.Data.Text) {
			err = fmt.Errorf("message %d of the bot is %q, want %q", k.heard, e.Data.Text, want)
		}
		got = e.Data.Text
		return err
	})
	return got
}

// asked expects a question about an order, with its buttons.
func (k *talk) asked(ref string, quantity int) (q event) {
	k.do(func() (err error) {
		q, err = k.hear()
		k.news.Add(1)
		want := fmt.Sprintf("About to: Place order\n• Ref: %s\n• Quantity: %d\nDo you confirm?", ref, quantity)
		if err == nil && (q.Data.Text != want || len(q.Data.Buttons) != 2) {
			err = fmt.Errorf("message %d of the bot is %q with %d buttons, want the question %q", k.heard, q.Data.Text, len(q.Data.Buttons), want)
		}
		return err
	})
	return q
}

// presses a button of the question. Where the press was answered by nobody the
// same is tried again, so stale is as good as accepted here: what counts is
// what comes of it.
func (k *talk) presses(q event, value string) (outcome string) {
	k.do(func() (err error) {
		i := slices.IndexFunc(q.Data.Buttons, func(b button) bool { return b.Value == value })
		if i < 0 {
			return fmt.Errorf("the question has no button %q: %v", value, q.Data.Buttons)
		}
		if outcome, err = k.press(q.Data.Buttons[i].ID); err == nil && outcome != "accepted" && outcome != "stale" {
			err = fmt.Errorf("pressing %s: outcome %q", value, outcome)
		}
		return err
	})
	return outcome
}

// pressesTwice presses at the same time, with two requests.
func (k *talk) pressesTwice(q event, value string) {
	two := [2]*talk{{person: k.person, err: k.err}, {person: k.person, err: k.err}}
	var got [2]string
	var both sync.WaitGroup
	for i := range two {
		both.Go(func() { got[i] = two[i].presses(q, value) })
	}
	both.Wait()
	for _, one := range two {
		k.do(func() error { return one.err })
	}
	if got[0] == "accepted" && got[1] == "accepted" {
		k.failf("two presses were both accepted")
	}
}

// sees expects the question's buttons to be gone, with the choice written
// behind it where there is one.
func (k *talk) sees(q event, choice string) {
	k.do(func() error {
		got, err := k.closed(q)
		want := strings.TrimSuffix(q.Data.Text+"\n"+choice, "\n")
		if err == nil && got != want {
			err = fmt.Errorf("the question was closed as %q, want %q", got, want)
		}
		return err
	})
}

// hearsOf expects to be told what became of an order that was approved.
func (k *talk) hearsOf(ref string, quantity int) {
	if k.hears(fmt.Sprintf("Ordered: %d × %s.", quantity, ref), fmt.Sprintf("In doubt: %s.", ref)) == fmt.Sprintf("In doubt: %s.", ref) {
		k.claims[ref] = inDoubt
		k.doubts++
	} else {
		k.claims[ref] = ordered
	}
}

// reckon compares the bot's claims with what was done.
func (k *talk) reckon(b *backend) error {
	for ref, c := range k.claims {
		n := len(b.of(ref))
		switch {
		case c == ordered && n != 1, c == nothing && n != 0, n > 1:
			return fmt.Errorf("the bot said of order %s: %s; it was made %d times", ref, c, n)
		}
	}
	return nil
}
