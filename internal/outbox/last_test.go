package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
)

// checker is a platform that can be asked whether it answers.
type checker struct {
	fakeEditor
	check func(ctx context.Context) error
	asked atomic.Int32
}

func (c *checker) Check(ctx context.Context) (string, error) {
	c.asked.Add(1)
	if c.check == nil {
		return "", nil
	}
	return "", c.check(ctx)
}

// outage answers with an error until it is over.
func outage(over time.Time, class channels.SendClass) error {
	if time.Now().Before(over) {
		return sendErr(class)
	}
	return nil
}

// An outage that is shorter than the wait costs nothing, whether or not the
// platform can be asked; a longer one where it can.
func TestOutbox_G5_AnswersSurviveOutages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lasts time.Duration
		asks  bool
		want  string
	}{
		{2 * time.Second, false, "sent"},
		{19 * time.Second, false, "sent"},
		{19 * time.Second, true, "sent"},
		{31 * time.Second, false, "failed"}, // nobody could know
		{31 * time.Second, true, "sent"},
		{time.Hour, true, "sent"},
		{23 * time.Hour, true, "sent"},
		{25 * time.Hour, true, "failed"},
	} {
		for _, class := range []channels.SendClass{channels.Unknown, channels.Temporary} {
			t.Run(fmt.Sprint(tt.lasts, tt.asks, class), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, over := newStore(), time.Now().Add(tt.lasts)
					c := &checker{check: func(context.Context) error { return outage(over, class) }}
					c.answer = func(context.Context, channels.Part) error { return outage(over, channels.Unknown) }
					var a channels.Adapter = c
					if !tt.asks {
						a = &c.fakeAdapter
					}
					o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
					var all []Entry
					for i := range 20 {
						all = append(all, s.say("tg", fmt.Sprint(i), "answer"))
						s.say("tg", fmt.Sprint(i), "next")
						o.Wake("tg", fmt.Sprint("tg:", i))
					}
					time.Sleep(26 * time.Hour)
					synctest.Wait()
					for _, e := range all {
						if got := s.entry(e); got.state != tt.want {
							t.Errorf("%s is %s, want %s", e.ChatKey, got.state, tt.want)
						}
						if n := strings.Count(strings.Join(c.texts(e.Part.Chat.ID), " "), "answer"); n > 2 {
							t.Errorf("%s was sent %d times", e.ChatKey, n)
						}
					}
					if s.faults != nil {
						t.Error(s.faults)
					}
				})
			})
		}
	}
}

// The one resend is spread, so that chats that failed together don't return
// together.
func TestOutbox_ResendsAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, begun := newStore(), time.Now()
		times := map[time.Duration]bool{}
		a := &fakeAdapter{}
		a.answer = func(context.Context, channels.Part) error {
			since := time.Since(begun)
			if since == 0 {
				return sendErr(channels.Unknown)
			}
			if since < resendWait || since > resendWait+resendSpread+time.Second {
				t.Errorf("sent again after %v", since)
			}
			times[since.Round(time.Second)] = true
			return nil
		}
		o := start(t, Config{Senders: 1}, s, map[string]channels.Adapter{"tg": a})
		for i := range 50 {
			s.say("tg", fmt.Sprint(i), "x")
			o.Wake("tg", fmt.Sprint("tg:", i))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if left := s.left("sent"); left != nil || len(times) < 4 {
			t.Errorf("left %v; %d seconds used", left, len(times))
		}
	})
}

// Whatever a platform says when it is asked, it answers: only the lack of an
// answer puts the last try off.
func TestOutbox_LastTryGoesWhereThePlatformAnswers(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"well":                 nil,
		"account set up wrong": errors.New("nothing is subscribed"),
		"no right to ask":      sendErr(channels.PermanentToken),
		"wrong id":             fmt.Errorf("reading the number: %w", sendErr(channels.PermanentMessage)),
		"panic":                nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				a := &checker{check: func(context.Context) error {
					if name == "panic" {
						panic("x")
					}
					return err
				}}
				a.answer = func(context.Context, channels.Part) error {
					if len(a.texts("")) == 1 {
						return sendErr(channels.Unknown)
					}
					return nil
				}
				o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
				s.say("tg", "c", "x")
				o.Wake("tg", "tg:c")
				time.Sleep(resendWait + resendSpread + time.Second)
				synctest.Wait()
				if left := s.left("sent"); left != nil || a.asked.Load() != 1 {
					t.Errorf("left %v, asked %d times", left, a.asked.Load())
				}
			})
		})
	}
}

// One chat asks for all, and those that didn't ask send meanwhile.
func TestOutbox_AskingHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var up atomic.Bool
		a := &checker{check: func(ctx context.Context) error {
			if up.Load() {
				return nil
			}
			<-ctx.Done() // hangs
			return &channels.SendError{Class: channels.Unknown, Err: ctx.Err()}
		}}
		a.answer = func(_ context.Context, p channels.Part) error {
			if !up.Load() && p.Text == "doubtful" {
				return sendErr(channels.Unknown)
			}
			return nil
		}
		o := start(t, Config{Senders: 2}, s, map[string]channels.Adapter{"tg": a})
		for i := range 100 {
			s.say("tg", fmt.Sprint(i), "doubtful")
			o.Wake("tg", fmt.Sprint("tg:", i))
		}
		time.Sleep(10 * time.Minute)
		if n := a.asked.Load(); n > 10*60/10+1 {
			t.Errorf("asked %d times in ten minutes", n)
		}
		free := s.say("tg", "free", "x")
		o.Wake("tg", "tg:free")
		synctest.Wait()
		if got := s.entry(free).state; got != "sent" {
			t.Errorf("another chat's entry is %s", got)
		}
		up.Store(true)
		time.Sleep(mostPutOff + askTime + time.Second)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

// An edit isn't given up while the platform doesn't answer, and what ends a
// draft is an answer like another.
func TestOutbox_G5_EditsSurviveOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, over := newStore(), time.Now().Add(3*time.Hour)
		a := &checker{check: func(context.Context) error { return outage(over, channels.Unknown) }}
		a.edit = func(channels.MessageID, channels.Part) error { return outage(over, channels.Unknown) }
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		s.add("tg", "c", Entry{Kind: Edit, Target: "m1", Part: channels.Part{Text: "Sure? → Yes"}})
		s.add("tg", "d", Entry{Kind: Finish, Target: "m2", Part: channels.Part{Text: "the whole answer"}})
		o.Wake("tg", "tg:c")
		o.Wake("tg", "tg:d")
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Errorf("left: %v", left)
		}
		if got := a.edits[len(a.edits)-2:]; !cmp.Equal(got, []string{"m1=Sure? → Yes", "m2=the whole answer"}) && !cmp.Equal(got, []string{"m2=the whole answer", "m1=Sure? → Yes"}) {
			t.Errorf("last edits %v", got)
		}
	})
}

// The end of the program doesn't spend the last try, nor wait for the answer.
func TestStop_G5_LastTryIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		asking := make(chan struct{})
		a := &checker{check: func(ctx context.Context) error {
			close(asking)
			<-ctx.Done()
			return &channels.SendError{Class: channels.Unknown, Err: ctx.Err()}
		}}
		a.answer = func(context.Context, channels.Part) error { return sendErr(channels.Unknown) }
		o := start(t, Config{Grace: time.Second}, s, map[string]channels.Adapter{"tg": a})
		e := s.say("tg", "c", "x")
		o.Wake("tg", "tg:c")
		<-asking
		if err := o.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.entry(e); got.state != "queued" || !got.Maybe || len(a.parts) != 1 {
			t.Errorf("entry is %s, maybe %v, after %d sends", got.state, got.Maybe, len(a.parts))
		}
	})
}

// A chat that rests for a resend goes on at once where the entry was withdrawn
// meanwhile, such as a question that was answered by its button.
func TestOutbox_B27_RestEndsWhereTheQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{}
		a.answer = func(_ context.Context, p channels.Part) error {
			if p.Text == "sure?" {
				return sendErr(channels.Unknown)
			}
			return nil
		}
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		q := s.say("tg", "c", "sure?")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		s.set(func(s *fakeStore) { s.chats[q.ChatKey].entries[q.Seq-1].state = "withdrawn" })
		begun := time.Now()
		done := s.say("tg", "c", "done")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		if got := s.entry(done).state; got != "sent" || !time.Now().Equal(begun) {
			t.Errorf("what follows is %s", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := a.texts("c"); !cmp.Equal(got, []string{"sure?", "done"}) {
			t.Errorf("sent %v", got)
		}
	})
}
