package app

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/llm"
)

// drafts is a platform that shows answers while they are written.
func drafts(c channeltest.Config) channeltest.Config {
	c.Caps.Edit.Draft = time.Millisecond
	return c
}

// begun starts an answer, as far as it is shown: "Once upon …".
func (b *bed) begun(w *writing) {
	b.t.Helper()
	b.say("tell me")
	b.thinking()
	b.write(w, "Once")
	b.clock.advance(time.Second)
	b.write(w, "Once upon ")
	b.wants(1, "Once upon …")
}

// reads waits until the n-th message reads so.
func (b *bed) reads(n int, text string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 15*time.Second)
	defer cancel()
	err := b.fake.Wait(ctx, func(events []channeltest.Event) bool {
		var ids []channels.MessageID
		now := map[channels.MessageID]string{}
		for _, e := range events {
			switch {
			case !e.Shown || e.Chat.ID != b.chat.ID:
				continue
			case e.Op == channeltest.OpSend && !e.Repeat:
				ids = append(ids, e.ID)
				now[e.ID] = e.Part.Text
			case e.Op == channeltest.OpEdit:
				now[e.ID] = e.Part.Text
			}
		}
		return len(ids) >= n && now[ids[n-1]] == text
	})
	if err != nil {
		b.t.Fatalf("message %d doesn't read %q; the bot said %q\n%s", n, text, b.fake.Texts(b.chat.ID), b.logs)
	}
}

func TestLoop_A9_ShownWhileItIsWritten(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(drafts(channeltest.Rich())))
	w := newWriting()
	b.model.then(w.then(says("Once upon a time.\n\nThe end.")), says("again?"))
	b.say("tell me")
	b.thinking()
	b.write(w, "Once")
	b.write(w, "Once upon") // too early
	if got := b.fake.Texts(b.chat.ID); len(got) != 0 {
		t.Fatalf("shown already: %q", got)
	}
	b.clock.advance(time.Second)
	b.write(w, "Once upon a")
	b.wants(1, "Once upon a …")
	b.write(w, "Once upon a time.\n")
	b.reads(1, "Once upon a time. …")
	close(w.texts)
	b.reads(1, "Once upon a time.\n\nThe end.")
	b.silent(1)
	b.say("more")
	b.wants(2, "again?")
	same(t, []string{"user: tell me", "assistant: Once upon a time.\n\nThe end.", "user: more"}, b.model.lines(2))
	for _, e := range b.fake.Events() {
		if e.Op == channeltest.OpEdit && e.Part.Draft != strings.HasSuffix(e.Part.Text, " …") {
			t.Errorf("an edit to %q says draft: %v", e.Part.Text, e.Part.Draft)
		}
	}
}

// What is whole soon costs no more than ever: one message, no edit.
func TestLoop_A9_QuickAnswersAreMessages(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(drafts(channeltest.Rich())))
	w := newWriting()
	b.model.then(w.then(says("Once upon a time.")))
	b.say("tell me")
	b.thinking()
	b.write(w, "Once")
	b.write(w, "Once upon")
	close(w.texts)
	if m := b.wants(1, "Once upon a time."); m.Edits != 0 {
		t.Errorf("%d edits", m.Edits)
	}
	b.silent(1)
}

func TestLoop_A9_NotStreamed(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]option{
		"with tools":               {withCaps(drafts(channeltest.Rich())), withTools(plain("look", returns(`1`)))},
		"a channel without drafts": {withCaps(channeltest.Rich())},
		"a channel without edits":  {withCaps(channeltest.TextOnly())},
		"switched off":             {withCaps(drafts(channeltest.Rich())), withYAML("bot: {stream: false}")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, opts...)
			w := newWriting()
			b.model.then(w.then(says("Once upon a time.")))
			b.say("tell me")
			if streamed := <-w.streamed; streamed {
				t.Error("it is streamed")
			}
			close(w.texts)
			if m := b.wants(1, "Once upon a time."); m.Edits != 0 {
				t.Errorf("%d edits", m.Edits)
			}
		})
	}
}

// A stream that breaks is retried by the chain: the new text takes the place
// of what was shown, and so does the text for failures where all fails.
func TestLoop_A9_RetryAndFailureTakeTheDraftsPlace(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(drafts(channeltest.Rich())))
	w := newWriting()
	b.model.then(w.then(fails(llm.Temporary)), says("well"))
	b.begun(w)
	b.write(w, "Twice") // from its beginning
	b.reads(1, "Twice …")
	close(w.texts)
	b.reads(1, sorry)
	b.silent(1)
	b.say("and now?")
	b.wants(2, "well")
	same(t, []string{"user: tell me", "user: and now?"}, b.model.lines(2))
}

func TestLoop_A9_ResetStopsTheAnswer(t *testing.T) {
	t.Parallel()
	for command, answered := range map[string]string{"/reset": resetText, "/cancel": cancelText} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, withCaps(drafts(channeltest.Rich())))
			w := newWriting()
			b.model.then(w.then(says("never")), says("hello"))
			b.begun(w)
			b.say(command)
			b.wants(2, answered)
			b.say("hi")
			b.wants(3, "hello")
			b.silent(3)
			same(t, []string{"Once upon …", answered, "hello"}, b.fake.Texts(b.chat.ID))
		})
	}
}

// A draft that waits behind a message that can't leave is withdrawn with /reset,
// and never overtakes that message.
func TestLoop_A9_DraftKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(drafts(channeltest.Rich())))
	release := make(chan struct{})
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Hold: release})
	w := newWriting()
	b.model.then(says("first"), w.then(says("Once upon a time.")))
	b.say("hi")
	b.thinking()
	b.say("tell me")
	b.thinking()
	b.write(w, "Once")
	b.clock.advance(time.Second)
	b.write(w, "Once upon")
	close(w.texts)
	b.until("the turn is over", func() bool {
		var ready int
		b.row(`SELECT count(*) FROM lane WHERE ready_at IS NOT NULL`, nil, &ready)
		return ready == 0
	})
	close(release)
	b.reads(2, "Once upon a time.")
	b.silent(2)
	if m := b.message(2); m.Edits != 0 {
		t.Errorf("the draft was sent though the answer was there: %q", m.Sent.Text)
	}
}

// Past the limit of one message the draft stops; the answer's first part takes
// its place and the others follow.
func TestLoop_A9_LongAnswer(t *testing.T) {
	t.Parallel()
	caps := drafts(channeltest.Rich())
	caps.Caps.TextMax = 40
	b := newBed(t, withCaps(caps))
	w := newWriting()
	long := strings.Repeat("word ", 20)
	b.model.then(w.then(says(long)))
	b.begun(w)
	b.write(w, long[:25])
	b.reads(1, "word word word word word …")
	b.write(w, long[:60])
	b.write(w, long[:70])
	close(w.texts)
	b.message(3)
	b.settled()
	b.reads(1, strings.TrimSpace(long[:40]))
	if got := strings.Join(b.fake.Texts(b.chat.ID), " "); got != strings.TrimSpace(long) {
		t.Errorf("said %q", got)
	}
}

// The person deleted the draft: the answer comes as a message of its own.
func TestLoop_A9_DeletedDraft(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(drafts(channeltest.Rich())))
	w := newWriting()
	b.model.then(w.then(says("Once upon a time.")))
	b.begun(w)
	b.fake.FailWhen(func(op channeltest.Op, _ channels.Part) *channeltest.Failure {
		if op == channeltest.OpEdit {
			return &channeltest.Failure{Class: channels.PermanentMessage}
		}
		return nil
	})
	close(w.texts)
	b.wants(2, "Once upon a time.")
	b.silent(2)
}

// Killed before and after each commit of a streamed answer: the next process
// goes on with the draft that is there, and the answer is given once.
func TestLoop_A9_G3_KilledAtAnyCommit(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]channeltest.Config{"idempotent": channeltest.Idempotent(), "plain": channeltest.Rich()} {
		for _, phase := range []string{"before", "after"} {
			for n := int64(1); n <= 6; n++ {
				t.Run(fmt.Sprint(name, " ", phase, n), func(t *testing.T) {
					t.Parallel()
					streamKilledAt(t, drafts(caps), n, phase)
				})
			}
		}
	}
}

func streamKilledAt(t *testing.T, caps channeltest.Config, n int64, phase string) {
	const whole = "Once upon a time."
	b := newBed(t, withCaps(caps))
	b.model.always = func(ctx context.Context, _ llm.Request) (llm.Response, error) {
		onText, _ := ctx.Value(onTextKey{}).(func(string))
		for i := 4; i < len(whole); i += 4 {
			onText(whole[:i])
			b.clock.advance(time.Second)
		}
		return llm.Response{Text: whole, Stop: llm.StopEnd}, nil
	}
	b.crashAt(n, phase)
	k := &killing{bed: b, killed: b.commits.crashed}
	k.again(func() error { return b.deliver(channels.Inbound{ID: "m-1", Text: "tell me"}) })
	answers := func() (whole1, partial int) {
		for _, text := range b.fake.Texts(b.chat.ID) {
			if text == whole {
				whole1++
			} else {
				partial++
			}
		}
		return whole1, partial
	}
	k.until(func() bool { done, _ := answers(); return done >= 1 && b.idle(b.chat) })
	k.end()
	b.settled()
	done, partial := answers()
	// Where the platform knows no keys, a draft whose send was cut short may
	// be there twice; never the answer.
	if done != 1 || partial > 1 || partial == 1 && caps.Caps.Idempotent {
		t.Errorf("the bot said %q", b.fake.Texts(b.chat.ID))
	}
	var left int
	b.row(`SELECT count(*) FROM draft`, nil, &left)
	if left != 0 {
		t.Errorf("%d drafts are left", left)
	}
	k.again(func() error { return b.deliver(channels.Inbound{ID: "m-2", Text: "more"}) })
	k.until(func() bool { done, _ := answers(); return done >= 2 })
}

// On Telegram a draft is edited at the platform's pace, with the newest text
// alone, and never to what it reads already: that is an error there.
func TestTelegram_A9_Drafts(t *testing.T) {
	t.Parallel()
	p := telegramtest.New(telegramtest.Options{})
	t.Cleanup(p.Close)
	a := newAccountWith(t, "tg", fmt.Sprintf(`{kind: telegram, token: %q, mode: polling, api_url: %q}`, telegramtest.Token, p.URL()))
	w := newWriting()
	a.model.then(w.then(says("Once **upon** a time.")))
	write := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			select {
			case w.texts <- text:
				<-w.taken
			case <-a.ctx.Done():
				t.Fatalf("writing %q: %v\n%s", text, a.ctx.Err(), a.logs)
			}
		}
	}
	wants := func(method string, n int, text string) {
		t.Helper()
		c, err := p.WaitCalls(a.ctx, method, n)
		a.no(err)
		if got := c.Str("text"); got != text || c.Code != 0 {
			t.Fatalf("%s %d says %q (code %d, %s), want %q", method, n, got, c.Code, c.Description, text)
		}
	}
	p.Say(telegramtest.User{ID: 7, Name: "Ana"}, "tell me", nil)
	write("Once")
	a.clock.advance(time.Second)
	write("Once **up")
	wants("sendMessage", 1, "Once **up …")
	write("Once **upo", "Once **upon", "Once **upon**", "Once **upon** ")
	wants("editMessageText", 1, "Once <b>upon</b> …")
	write("Once **upon** \n", "Once **upon** a", "Once **upon** a t")
	wants("editMessageText", 2, "Once <b>upon</b> a t …")
	close(w.texts)
	wants("editMessageText", 3, "Once <b>upon</b> a time.")
	if all := p.Messages(7); len(all) != 1 || all[0].Text != "Once upon a time." {
		t.Errorf("the chat reads %+v", all)
	}
}
