package storetest

import (
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

func senderTests() []test {
	return []test{
		{"a_stranger_is_told_one_code", knockOnce},
		{"a_code_is_good_for_its_time", knockExpired},
		{"a_code_lets_in_until_put_out", knockApproved},
		{"strangers_are_bounded", knockBounded},
		{"G1_a_knock_again_is_a_duplicate", knockAgain},
	}
}

func (b *bench) knock(user, code string) inbox.Accepted {
	b.Helper()
	acc, err := b.Store.Knock(b.Context(), b.knocking(user, code))
	if err != nil {
		b.Fatalf("knock of %s: %v", user, err)
	}
	return acc
}

func (b *bench) knocking(user, code string) inbox.Knock {
	p := alone(user)
	d := b.text(p, user, "")
	return inbox.Knock{
		Place: p, DedupeKey: d.DedupeKey, In: d.In, Code: code, For: time.Hour, Max: 3,
		Say: []channels.Part{{Chat: p.Chat, Text: "Your code is " + code}},
	}
}

// senders lists who asked and who was let in: "user code" or "user in".
func (b *bench) senders() (out []string) {
	b.Helper()
	rows, err := b.Store.ListSenders(b.Context(), 100)
	if err != nil {
		b.Fatalf("listing senders: %v", err)
	}
	for _, r := range rows {
		if r.Channel != channel || r.Asked.IsZero() || r.Expires.IsZero() == (r.Code != "") {
			b.Errorf("row %+v", r)
		}
		what := r.Code
		if !r.LetIn.IsZero() {
			what = "in"
		}
		out = append(out, string(r.User)+" "+what)
	}
	return out
}

func (b *bench) wantSenders(want ...string) {
	b.Helper()
	if got := b.senders(); fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("senders %q, want %q", got, want)
	}
}

func (b *bench) wantIn(user string, want bool) {
	b.Helper()
	in, err := b.Store.LetIn(b.Context(), channel, channels.UserID(user))
	if err != nil || in != want {
		b.Errorf("%s let in: %v %v, want %v", user, in, err, want)
	}
}

func (b *bench) approve(code string, want string) {
	b.Helper()
	ch, user, found, err := b.Store.Approve(b.Context(), code)
	if err != nil || string(user) != want || found != (want != "") || found && ch != channel {
		b.Errorf("approving %q: %q %q %v %v, want %q", code, ch, user, found, err, want)
	}
}

func knockOnce(b *bench) {
	if acc := b.knock("eva", "AAAA-0001"); acc.Outcome != inbox.Told || !acc.Speak || acc.Wake {
		b.Errorf("%+v", acc)
	}
	if acc := b.knock("eva", "AAAA-0002"); acc.Outcome != inbox.Ignored || acc.Speak {
		b.Errorf("again: %+v", acc)
	}
	b.wantSenders("eva AAAA-0001")
	b.wantIn("eva", false)
	rows, err := b.Store.ListOutbox(b.Context(), false, 10)
	if err != nil || len(rows) != 1 {
		b.Errorf("outbox: %+v %v", rows, err)
	}
}

func knockExpired(b *bench) {
	b.knock("eva", "AAAA-0001")
	b.Advance(time.Hour)
	b.approve("AAAA-0001", "")
	b.wantSenders()
	if acc := b.knock("eva", "AAAA-0002"); acc.Outcome != inbox.Told {
		b.Errorf("after an hour: %+v", acc)
	}
	b.approve("AAAA-0001", "")
	b.approve("AAAA-0002", "eva")
}

func knockApproved(b *bench) {
	b.knock("eva", "AAAA-0001")
	b.knock("leo", "BBBB-0001")
	b.approve("", "")
	b.approve("AAAA-0001", "eva")
	b.approve("AAAA-0001", "")
	b.approve("", "")
	b.reopen(true)
	b.wantIn("eva", true)
	b.wantIn("leo", false)
	b.wantSenders("leo BBBB-0001", "eva in")
	if acc := b.knock("eva", "AAAA-0002"); acc.Outcome != inbox.Ignored {
		b.Errorf("one who is in: %+v", acc)
	}
	for _, want := range []bool{true, false} {
		if found, err := b.Store.PutOut(b.Context(), channel, "eva"); err != nil || found != want {
			b.Errorf("putting out: %v %v, want %v", found, err, want)
		}
	}
	b.wantIn("eva", false)
	b.wantSenders("leo BBBB-0001")
}

func knockBounded(b *bench) {
	for i := range 3 {
		b.knock(fmt.Sprint("s", i), fmt.Sprint("CCCC-", i))
	}
	if acc := b.knock("late", "CCCC-9"); acc.Outcome != inbox.Ignored || acc.Speak {
		b.Errorf("past the bound: %+v", acc)
	}
	b.approve("CCCC-1", "s1")
	if acc := b.knock("late", "CCCC-9"); acc.Outcome != inbox.Told {
		b.Errorf("with room again: %+v", acc)
	}
	b.Advance(2 * time.Hour)
	b.clean(store.DefaultKeep())
	b.wantSenders("s1 in")
}

func knockAgain(b *bench) {
	k := b.knocking("eva", "AAAA-0001")
	for _, want := range []inbox.Outcome{inbox.Told, inbox.Duplicate} {
		if acc, err := b.Store.Knock(b.Context(), k); err != nil || acc.Outcome != want {
			b.Errorf("%+v %v, want %s", acc, err, want)
		}
	}
}
