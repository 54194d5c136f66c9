package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
)

func outboxTests() []test {
	return []test{
		{"G5_entries_leave_in_order", outboxOrder},
		{"G5_retry_waits_until_due", outboxRetry},
		{"G5_failed_entry_lets_the_next_go", outboxFailed},
		{"G5_stale_outcomes_change_nothing", outboxStale},
		{"G5_sending_after_a_crash_may_have_left", outboxMaybe},
		{"G5_chats_are_paged", outboxChats},
		{"G5_pending_counts", outboxPending},
		{"G5_log_has_no_gaps_and_both_sides", outboxLog},
	}
}

// queue puts texts into the chat's outbox, none of them born sending.
func (b *bench) queue(p inbox.Place, all ...string) {
	b.Helper()
	b.say(p, "ana", "hi", inbox.Queued)
	w := b.begin(p)
	f := w.finish("")
	f.Own = false
	for _, text := range all {
		f.Say = append(f.Say, channels.Part{Chat: p.Chat, Text: text, Plain: "", ReplyTo: "r", Key: "k" + text})
	}
	if _, err := b.Store.Finish(b.Context(), w.Lane, f); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) retry(e outbox.Entry, after time.Duration, unknown bool) {
	b.Helper()
	if err := b.Store.Retry(b.Context(), e, b.Store.Now().Add(after), unknown, "try again"); err != nil {
		b.Fatalf("putting entry %d back: %v", e.Seq, err)
	}
}

func (b *bench) failed(e outbox.Entry, unknown bool) outbox.Failure {
	b.Helper()
	f, err := b.Store.Failed(b.Context(), e, unknown, "gone")
	if err != nil {
		b.Fatalf("ending entry %d: %v", e.Seq, err)
	}
	return f
}

func outboxOrder(b *bench) {
	p := alone("ana")
	b.silent(p)
	b.queue(p, "1", "2", "3")
	created := b.Store.Now()
	b.Advance(time.Second)
	e := b.next(p)
	want := outbox.Entry{
		ChatKey: p.ChatKey, Channel: channel, Seq: 1, Kind: outbox.Send, Attempts: 1, Created: created.UTC().Truncate(time.Millisecond),
		Part: channels.Part{Chat: p.Chat, Text: "1", ReplyTo: "r", Key: "k1"},
	}
	if d := cmp.Diff(want, e); d != "" {
		b.Error(d)
	}
	for want := int64(2); want <= 3; want++ {
		next, ok := b.sent(e)
		if !ok || next.Seq != want || next.Attempts != 1 || next.Maybe {
			b.Fatalf("after %d: %+v, %v", e.Seq, next, ok)
		}
		e = next
	}
	_, ok := b.sent(e)
	check(b, "after the last", ok, false)
	b.silent(p)
}

func outboxRetry(b *bench) {
	p := alone("ana")
	b.queue(p, "1", "2")
	e := b.next(p)
	due := b.Store.Now().Add(time.Minute)
	b.retry(e, time.Minute, false)
	_, ok, at, err := b.Store.Next(b.Context(), p.ChatKey)
	if ok || err != nil || at.UnixMilli() != due.UnixMilli() {
		b.Errorf("before it is due: ok %v, due %v, error %v", ok, at, err)
	}
	b.Advance(time.Minute)
	e = b.next(p)
	check(b, "seq", e.Seq, 1)
	check(b, "attempts", e.Attempts, 2)
	check(b, "maybe", e.Maybe, false)
	b.retry(e, 0, true)
	e = b.next(p)
	check(b, "maybe after an unknown outcome", e.Maybe, true)
	b.retry(e, 0, false)
	check(b, "maybe stays", b.next(p).Maybe, true)
}

func outboxFailed(b *bench) {
	p := alone("ana")
	b.queue(p, "1", "2", "3")
	f := b.failed(b.next(p), false)
	if !f.More || f.Lane != "" {
		b.Errorf("%+v", f)
	}
	e := b.next(p)
	check(b, "then", e.Seq, 2)
	check(b, "unknown", b.failed(e, true).More, true)
	// One that waits for its retry can be given up too.
	e = b.next(p)
	b.retry(e, time.Hour, false)
	check(b, "last", b.failed(e, false).More, false)
	b.silent(p)
	check(b, "logged", len(b.log(p)), 1)
}

func outboxStale(b *bench) {
	p := alone("ana")
	b.queue(p, "1", "2", "3")
	first := b.next(p)
	second, _ := b.sent(first)
	b.retry(second, time.Hour, false)
	// What came of the first is told again, and of the second though it was
	// put back: neither may carry another entry away.
	_, ok := b.sent(first)
	check(b, "sent again", ok, false)
	if next, ok := b.sent(second); ok {
		b.Errorf("a stale outcome gave entry %d", next.Seq)
	}
	b.retry(first, 0, false)
	b.failed(first, false)
	b.silent(p)
	b.Advance(time.Hour)
	if d := cmp.Diff([]string{"2", "3"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
	check(b, "logged", len(b.log(p)), 4)
}

func outboxMaybe(b *bench) {
	p := alone("ana")
	b.queue(p, "1", "2")
	b.next(p)
	b.reopen(true)
	e := b.next(p)
	check(b, "seq", e.Seq, 1)
	check(b, "maybe", e.Maybe, true)
	check(b, "attempts", e.Attempts, 2)
	next, _ := b.sent(e)
	check(b, "the one behind", next.Maybe, false)
	// The same for one that was born sending.
	p = alone("ben")
	b.say(p, "ben", "hi", inbox.Queued)
	b.end(b.begin(p), "hello")
	b.reopen(true)
	check(b, "born", b.next(p).Maybe, true)
}

func outboxChats(b *bench) {
	want := []string{}
	for _, chat := range []string{"d", "b", "a", "c", "e"} {
		b.queue(alone(chat), "1")
	}
	b.send(alone("c"))
	for _, chat := range []string{"a", "b", "d", "e"} {
		want = append(want, alone(chat).ChatKey)
	}
	got, after := []string{}, ""
	for {
		page, err := b.Store.Chats(b.Context(), []string{"other", channel}, after, 2)
		if err != nil {
			b.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got, after = append(got, page...), page[len(page)-1]
	}
	if !slices.Equal(got, want) {
		b.Errorf("chats %v, want %v", got, want)
	}
	for _, names := range [][]string{nil, {"other"}} {
		if got, err := b.Store.Chats(b.Context(), names, "", 10); len(got) != 0 || err != nil {
			b.Errorf("chats of %v: %v, %v", names, got, err)
		}
	}
}

func outboxPending(b *bench) {
	pending := func(want int) {
		b.Helper()
		n, err := b.Store.Pending(b.Context())
		if n != want || err != nil {
			b.Errorf("pending %d, want %d, error %v", n, want, err)
		}
	}
	pending(0)
	b.queue(alone("ana"), "1", "2")
	b.queue(alone("ben"), "1")
	pending(3)
	e := b.next(alone("ana"))
	pending(3)
	b.sent(e)
	pending(2)
	b.failed(b.next(alone("ben")), false)
	pending(1)
}

func outboxLog(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	b.send(p)
	b.end(b.begin(p), "")
	b.queue(p, "bye")
	b.send(p)
	var got []channels.LogEntry
	for _, e := range b.log(p) {
		if e.From == channels.FromUser {
			e.ID = ""
		}
		e.At = time.Time{}
		got = append(got, e)
	}
	buttons := []channels.Button{{ID: channels.ButtonID(q.Token + ".y"), Label: "Yes", Value: "yes"}}
	want := []channels.LogEntry{
		{N: 1, From: channels.FromUser, Text: "order a cake"},
		{N: 2, ID: "sent-1", From: channels.FromBot, Text: "Place order?", Buttons: buttons},
		{N: 3, From: channels.FromUser, Text: "yes"},
		{N: 4, ID: "edit-2", From: channels.FromBot, Text: "Place order?\n→ Yes", EditOf: "sent-1"},
		{N: 5, From: channels.FromUser, Text: "hi"},
		{N: 6, ID: "sent-3", From: channels.FromBot, Text: "bye"},
	}
	if d := cmp.Diff(want, got); d != "" {
		b.Error(d)
	}
	page, err := b.Store.Log(b.Context(), p.ChatKey, 2, 2)
	if err != nil || len(page) != 2 || page[0].N != 3 || page[1].N != 4 {
		b.Errorf("page %+v, %v", page, err)
	}
	if other, err := b.Store.Log(b.Context(), "web:other", 0, 10); len(other) != 0 || err != nil {
		b.Errorf("another chat's: %v, %v", other, err)
	}
}
