package outbox

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
)

// drawn is an outbox with one chat that has an open draft.
type drawn struct {
	*Outbox
	s *fakeStore
	a *timed
	d *Draft
}

func drafting(every, least time.Duration) channels.Capabilities {
	return channels.Capabilities{Edit: channels.EditLimits{Text: true, Draft: every, MinInterval: least}}
}

// draw sends a draft that reads "0".
func draw(t *testing.T, caps channels.Capabilities) drawn {
	t.Helper()
	x := drawn{s: newStore(), a: newTimed(caps)}
	x.Outbox = start(t, Config{}, x.s, map[string]channels.Adapter{"tg": x.a})
	e := x.s.born("tg", "a", "0")
	e.Part.Draft = true
	x.d = x.Outbox.Draft("tg", e.ChatKey, e.Seq, "", e.Part, shown)
	x.Take(e)
	synctest.Wait()
	return x
}

func shown(text string) (channels.Part, bool) {
	return channels.Part{Chat: channels.Chat{ID: "a"}, Text: strings.TrimSpace(text)}, text != "too long"
}

// finish commits the draft's final text.
func (x drawn) finish(text string) Entry {
	x.d.Close()
	e := x.s.add("tg", "a", Entry{Kind: Finish, Target: "m1", Part: channels.Part{Chat: channels.Chat{ID: "a"}, Text: text}})
	x.Wake("tg", "tg:a")
	return e
}

func (x drawn) wants(t *testing.T, want ...string) {
	t.Helper()
	time.Sleep(time.Minute)
	if diff := cmp.Diff(want, first(x.a.sent())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if len(x.s.faults) > 0 {
		t.Errorf("faults: %v", x.s.faults)
	}
	if n := len(x.accounts["tg"].drafts); n != 0 {
		t.Errorf("%d drafts are left open", n)
	}
}

// Only the newest text is shown, no more often than the channel says, and the
// final one comes last.
func TestDraft_A9_NewestTextAtItsPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := draw(t, drafting(time.Second, time.Second))
		for _, text := range []string{"1", "2", "3", "4", "5"} {
			x.d.Show(text)
			time.Sleep(400 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		x.d.Show("6") // never seen: the final text comes first
		x.finish("done")
		x.wants(t, "0s a0", "1s a3", "2s a5", "3s adone")
	})
}

// A text that reads the same isn't sent again: some platforms refuse that.
func TestDraft_A9_SameTextIsNoEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := draw(t, drafting(time.Second, 0))
		for _, text := range []string{"0 ", "1", "1 ", "1\n"} {
			x.d.Show(text)
			time.Sleep(1500 * time.Millisecond)
		}
		x.finish("done")
		x.wants(t, "0s a0", "2s a1", "6s adone")
	})
}

// What else is to be sent in the chat goes first, and a chat that waits for a
// retry is left alone.
func TestDraft_G5_GivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := draw(t, drafting(time.Second, 0))
		fail := true
		x.a.answer = func(_ context.Context, p channels.Part) error {
			if fail {
				fail = false
				return &channels.SendError{Class: channels.RateLimited, After: 5 * time.Second}
			}
			x.a.note(p)
			return nil
		}
		x.s.say("tg", "a", "other")
		x.Wake("tg", "tg:a")
		for _, text := range []string{"1", "2", "3", "4", "5", "6"} {
			x.d.Show(text)
			time.Sleep(time.Second)
		}
		time.Sleep(5 * time.Second)
		log, _ := x.a.sent()
		if len(log) != 3 || !strings.HasSuffix(log[1], "aother") || !strings.HasSuffix(log[2], "a6") {
			t.Errorf("sent %v", log)
		}
		x.d.Close()
	})
}

// Drafts leave half of a chat's budget to messages, and wait for none.
func TestDraft_G5_LeavesBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caps := drafting(time.Second, 0)
		caps.Budget.Chat = channels.Rate{Sends: 4, Per: 40 * time.Second}
		x := draw(t, caps)
		for i := range 10 {
			x.d.Show(strings.Repeat("x", i+1))
			time.Sleep(time.Second)
		}
		e := x.finish("done")
		x.s.say("tg", "a", "more")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		log, _ := x.a.sent()
		if got := log[len(log)-2:]; got[0] != "10s adone" || got[1] != "10s amore" {
			t.Errorf("the answer had to wait: %v", log)
		}
		if got := x.s.entry(e); got.id != "m1" {
			t.Errorf("the answer is message %q", got.id)
		}
	})
}

// An edit that fails is not repeated; where it can't ever succeed, or the
// platform asks for less, no other follows.
func TestDraft_A9_FailuresEndIt(t *testing.T) {
	t.Parallel()
	for class, after := range map[channels.SendClass]int{
		channels.RateLimited: 1, channels.PermanentMessage: 1, channels.PermanentChat: 1, channels.Unknown: 2, channels.Temporary: 2,
	} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := draw(t, drafting(time.Second, 0))
				edits := 0
				x.a.edit = func(_ channels.MessageID, p channels.Part) error {
					if p.Draft {
						edits++
						return sendErr(class)
					}
					return nil
				}
				for i := range 15 {
					x.d.Show(strings.Repeat("x", i+1))
					time.Sleep(time.Second)
				}
				if edits != after {
					t.Errorf("%d edits, want %d", edits, after)
				}
				if got := x.s.entry(x.finish("done")); got.Kind != Finish {
					t.Error(got)
				}
				time.Sleep(time.Minute)
				if left := x.s.left("sent"); left != nil {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// A text that doesn't fit one message ends the draft: what is shown stays
// until the answer is whole.
func TestDraft_A9_StopsAtTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := draw(t, drafting(time.Second, 0))
		x.d.Show("1")
		time.Sleep(2 * time.Second)
		x.d.Show("too long")
		time.Sleep(2 * time.Second)
		x.d.Show("2")
		x.wants(t, "0s a0", "1s a1")
	})
}

// An answer whose draft was deleted, never came to be, or is on a channel that
// can't edit any more is a message of its own.
func TestFinish_G5_WithoutADraftItIsAMessage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		target channels.MessageID
		edit   channels.SendClass
		want   string // how it was sent
		state  string
	}{
		"edited":          {"m", "", "m=x", "sent"},
		"nothing to edit": {"", "", "", "sent"},
		"deleted":         {"m", channels.PermanentMessage, "m=x", "sent"},
		"chat is gone":    {"m", channels.PermanentChat, "m=x", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, a := newStore(), &fakeEditor{}
				if tc.edit != "" {
					a.edit = func(channels.MessageID, channels.Part) error { return sendErr(tc.edit) }
				}
				o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
				e := s.add("tg", "a", Entry{Kind: Finish, Target: tc.target, Part: channels.Part{Chat: channels.Chat{ID: "a"}, Text: "x"}})
				o.Wake("tg", "tg:a")
				time.Sleep(time.Minute)
				got := s.entry(e)
				if got.state != tc.state || strings.Join(a.edits, " ") != tc.want {
					t.Errorf("it is %s after the edits %v", got.state, a.edits)
				}
				asMessage := tc.state == "sent" && (tc.target == "" || tc.edit != "")
				if sent := len(a.texts("")); (sent == 1) != asMessage || asMessage && got.id == tc.target {
					t.Errorf("%d messages, the answer is %q", sent, got.id)
				}
			})
		})
	}
}
