package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
)

func acceptTests() []test {
	return []test{
		{"G1_same_message_again_is_a_duplicate", acceptAgain},
		{"G1_same_message_at_once_is_queued_once", acceptAtOnce},
		{"G2_lane_order_is_commit_order_under_concurrency", acceptOrder},
		{"G2_lanes_are_independent", acceptLanes},
		{"G1_hostile_texts_come_back_unchanged", acceptHostile},
		{"G6_over_queue_is_taken_and_noticed_once", acceptOverQueue},
		{"G6_refused_leaves_no_identity", acceptRefused},
		{"G6_over_rate_is_not_worked_on", acceptOverRate},
		{"B12_not_addressed_is_only_remembered", acceptIgnored},
	}
}

func acceptAgain(b *bench) {
	p := alone("ana")
	d := b.text(p, "ana", "hi")
	first, again := b.accept(d), b.accept(d)
	if !first.Wake || !first.Logged || first.Outcome != inbox.Queued || first.Lane != p.Lane {
		b.Errorf("first: %+v", first)
	}
	if again.Wake || again.Logged || again.Outcome != inbox.Duplicate {
		b.Errorf("again: %+v", again)
	}
	check(b, "log lines", len(b.log(p)), 1)
	b.end(b.begin(p), "")
	check(b, "after its turn", b.accept(d).Outcome, inbox.Duplicate)
	b.idle(p.Lane)
}

func acceptAtOnce(b *bench) {
	p := alone("ana")
	d := b.text(p, "ana", "hi")
	var queued, duplicate atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			acc, err := b.Store.Accept(b.Context(), d)
			switch {
			case err != nil:
				b.Error(err)
			case acc.Outcome == inbox.Queued:
				queued.Add(1)
			case acc.Outcome == inbox.Duplicate:
				duplicate.Add(1)
			}
		})
	}
	wg.Wait()
	check(b, "queued", queued.Load(), 1)
	check(b, "duplicates", duplicate.Load(), 63)
	b.end(b.begin(p), "")
	b.idle(p.Lane)
}

func acceptOrder(b *bench) {
	p := alone("ana")
	const senders, each = 16, 20
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for n := range each {
				if _, err := b.Store.Accept(b.Context(), b.text(p, "ana", fmt.Sprintf("%d:%d", i, n))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	next := make([]int, senders)
	var worked []string
	for seq := range int64(senders * each) {
		w := b.begin(p)
		check(b, "seq", w.from, seq+1)
		text := w.Queue[0].In.Text
		var i, n int
		if _, err := fmt.Sscanf(text, "%d:%d", &i, &n); err != nil {
			b.Fatal(err)
		}
		if n != next[i] {
			b.Fatalf("message %s came when %d was due", text, next[i])
		}
		next[i]++
		worked = append(worked, text)
		b.end(w, "")
	}
	b.idle(p.Lane)
	var logged []string
	for _, e := range b.log(p) {
		logged = append(logged, e.Text)
	}
	if d := cmp.Diff(worked, logged); d != "" {
		b.Errorf("the log has another order than the lane:\n%s", d)
	}
}

func acceptLanes(b *bench) {
	for _, who := range []string{"ana", "ben", "cem"} {
		b.say(alone(who), who, "hi", inbox.Queued)
		b.Advance(1e9)
	}
	ana := b.claim("web:ana")
	ready, err := b.Store.Ready(b.Context(), 10)
	if err != nil || !slices.Equal(ready, []string{"web:ben", "web:cem"}) {
		b.Errorf("ready %v, error %v", ready, err)
	}
	// Lanes that are worked on stand in front; they must not hide the rest.
	ready, err = b.Store.Ready(b.Context(), 1)
	if err != nil || !slices.Equal(ready, []string{"web:ben"}) {
		b.Errorf("first ready %v, error %v", ready, err)
	}
	b.idle("web:ana")
	b.release(ana)
	b.release(b.claim("web:ana"))
	lanes, questions, err := b.Store.Waiting(b.Context())
	if lanes != 3 || questions != 0 || err != nil {
		b.Errorf("waiting: %d lanes, %d questions, error %v", lanes, questions, err)
	}
}

func acceptHostile(b *bench) {
	p := alone(`a'; DROP TABLE lane; --`)
	for _, text := range []string{"nul\x00byte", "emoji 👩‍👩‍👧 \u202e bidi", strings.Repeat("x", 1<<20), "'\"\\\n\r\t", "\u2028 \ufeff \U0010ffff"} {
		b.say(p, "ana", text, inbox.Queued)
		w := b.begin(p)
		if got := w.Queue[0].In.Text; got != text {
			b.Errorf("queued %.40q, got %.40q", text, got)
		}
		b.end(w, text)
		if got := b.send(p)[0].Part.Text; got != text {
			b.Errorf("said %.40q, sent %.40q", text, got)
		}
		for _, e := range b.log(p)[len(b.log(p))-2:] {
			if e.Text != text {
				b.Errorf("logged %.40q as %.40q", text, e.Text)
			}
		}
	}
}

func acceptOverQueue(b *bench) {
	p := alone("ana")
	over := func(text string) inbox.Accepted {
		d := b.text(p, "ana", text)
		d.QueueMax, d.QueueNotice = 2, []channels.Part{{Chat: p.Chat, Text: "too many"}}
		return b.accept(d)
	}
	over("1")
	over("2")
	third, fourth := over("3"), over("4")
	if third.Outcome != inbox.OverQueue || !third.Speak || third.Wake {
		b.Errorf("third: %+v", third)
	}
	if fourth.Outcome != inbox.OverQueue || fourth.Speak {
		b.Errorf("fourth: %+v", fourth)
	}
	b.end(b.begin(p), "")
	check(b, "with room", over("5").Outcome, inbox.Queued)
	check(b, "notice after there was room", over("6").Speak, true)
	check(b, "notices", len(b.send(p)), 2)
	var worked []string
	for range 2 {
		w := b.begin(p)
		worked = append(worked, w.Queue[0].In.Text)
		b.end(w, "")
	}
	if d := cmp.Diff([]string{"2", "5"}, worked); d != "" {
		b.Error(d)
	}
	b.idle(p.Lane)
}

func acceptRefused(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "1", inbox.Queued)
	d := b.text(p, "ana", "2")
	d.QueueMax, d.Refuse = 1, true
	for range 2 {
		_, err := b.Store.Accept(b.Context(), d)
		if r, ok := errors.AsType[*channels.RefusedError](err); !ok || r.Reason != channels.RefusedQueueFull {
			b.Fatalf("error %v, want a refusal", err)
		}
	}
	check(b, "log lines", len(b.log(p)), 1)
	b.end(b.begin(p), "")
	check(b, "the same message when there is room", b.accept(d).Outcome, inbox.Queued)
}

func acceptOverRate(b *bench) {
	p := alone("ana")
	d := b.text(p, "ana", "hi")
	d.OverRate, d.RateNotice = true, []channels.Part{{Chat: p.Chat, Text: "slow down"}}
	acc := b.accept(d)
	if acc.Outcome != inbox.OverRate || !acc.Speak || acc.Wake {
		b.Errorf("%+v", acc)
	}
	b.idle(p.Lane)
	q := b.question(p, "ana")
	d = b.text(p, "ana", "yes")
	d.OverRate = true
	check(b, "an answer is not limited", b.accept(d).Outcome, inbox.AnsweredQuestion)
	check(b, "turn", b.peek(p.Lane).Saved.ID, q.id)
}

func acceptIgnored(b *bench) {
	p := group("team")
	d := b.text(p, "ana", "chatter")
	d.Routed = false
	acc := b.accept(d)
	if acc.Outcome != inbox.Ignored || acc.Wake || acc.Logged {
		b.Errorf("%+v", acc)
	}
	check(b, "again", b.accept(d).Outcome, inbox.Duplicate)
	check(b, "log lines", len(b.log(p)), 0)
	b.idle(p.Lane)
}
