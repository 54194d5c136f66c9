package whatsappcloud_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
)

func buttons() []channels.Button {
	return []channels.Button{
		{ID: "0123456789abcdef0123456789abcdef.y", Label: "Yes", Value: "yes"},
		{ID: "0123456789abcdef0123456789abcdef.n", Label: "No", Value: "no"},
	}
}

func TestSend_TextButtonsReply(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.say("m1", "hi")
	for _, part := range []channels.Part{
		{Text: "hello", Key: "wa:" + ana + "#1", ReplyTo: "m1"},
		{Text: "sure?", Key: "wa:" + ana + "#2", Buttons: buttons()},
		{Text: "no key fits", Key: strings.Repeat("k", 513)},
	} {
		if _, err := b.send(part); err != nil {
			t.Fatalf("%s: %v", part.Text, err)
		}
	}
	want := []whatsappcloudtest.Message{
		{ID: "wamid.OUT1", To: ana, RecipientType: "individual", Type: "text", Text: "hello", Callback: "wa:" + ana + "#1", ReplyTo: "m1"},
		{ID: "wamid.OUT2", To: ana, RecipientType: "individual", Type: "interactive", Text: "sure?", Callback: "wa:" + ana + "#2", Buttons: []whatsappcloudtest.Button{
			{ID: "0123456789abcdef0123456789abcdef.y", Title: "Yes"}, {ID: "0123456789abcdef0123456789abcdef.n", Title: "No"},
		}},
		{ID: "wamid.OUT3", To: ana, RecipientType: "individual", Type: "text", Text: "no key fits"},
	}
	if d := cmp.Diff(want, b.platform.Messages()); d != "" {
		t.Error(d)
	}
}

// Somebody whose number is hidden is written to by their user id.
func TestSend_BSUID(t *testing.T) {
	t.Parallel()
	const user = "US.13491208655302741918"
	b := newBed(t)
	b.platform.From(user, "Ana", whatsappcloudtest.Text("m", "hi")) // opens the window
	if _, err := b.send(channels.Part{Chat: channels.Chat{ID: user}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages(); len(m) != 1 || m[0].To != user {
		t.Errorf("sent %+v", m)
	}
}

// Every code that Meta documents has its class.
func TestSend_ErrorCodes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.say("m1", "hi")
	for class, codes := range map[channels.SendClass][]int{
		channels.RateLimited:      {4, 80007, 130429, 131048, 131056},
		channels.Temporary:        {1, 2, 131000, 131016, 131057, 135000},
		channels.PermanentToken:   {3, 10, 190, 200, 230, 299, 368, 131031, 131037, 131042, 131045, 133010},
		channels.PermanentChat:    {130497, 131021, 131026, 131030, 131049, 131050, 131062, 137000},
		channels.PermanentMessage: {100, 131008, 131009, 131051, 131053, 132000, 132001, 132015, 132016, 999999},
	} {
		for _, code := range codes {
			b.platform.Fail(whatsappcloudtest.Fault{Status: 400, Code: code, Message: "no"})
			_, err := b.send(channels.Part{Text: "x"})
			if got := channels.ClassOf(err); got != class {
				t.Errorf("code %d: class %s, want %s", code, got, class)
			}
		}
	}
	for status, want := range map[int]channels.SendClass{
		401: channels.PermanentToken, 403: channels.PermanentToken, 404: channels.PermanentMessage, 429: channels.RateLimited,
		500: channels.Temporary, 503: channels.Temporary, 504: channels.Unknown,
	} {
		b.platform.Fail(whatsappcloudtest.Fault{Status: status, Code: 999999, Message: "no"})
		if got := channels.ClassOf(second(b.send(channels.Part{Text: "x"}))); got != want {
			t.Errorf("status %d with a code that nobody knows: class %s, want %s", status, got, want)
		}
	}
}

// Only Meta's own errors say something of the account, the chat or the message.
func TestSend_G5_ForeignAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.say("m1", "hi")
	for _, f := range channeltest.Foreigners() {
		b.platform.Fail(whatsappcloudtest.Fault{Status: f.Status, Body: f.Body + " "})
		if got := channels.ClassOf(second(b.send(channels.Part{Text: "x"}))); got != f.Want {
			t.Errorf("%d %s: class %s, want %s", f.Status, f.Body, got, f.Want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// 131047 says what to do where no template is configured.
func TestSend_WindowClosedWithoutTemplate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.say("m1", "hi")
	b.clock.advance(25 * time.Hour)
	_, err := b.send(channels.Part{Text: "late"})
	if c, code := class(err); c != channels.PermanentMessage || code != "131047" || !strings.Contains(err.Error(), "only a template") {
		t.Errorf("%v, want a permanent error that names the template", err)
	}
}

func withTemplate(bare bool) func(*whatsappcloud.Config) {
	return func(c *whatsappcloud.Config) {
		c.Template = whatsappcloud.Template{Name: "news", Lang: "en_US", Bare: bare}
	}
}

// The window is known to be closed: the template goes at once, in one call.
func TestSend_TemplateOutsideTheWindow(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		b := newBed(t, withTemplate(bare))
		b.say("m1", "hi")
		b.clock.advance(25 * time.Hour)
		if _, err := b.send(channels.Part{Text: "your\n\n  order\tis    ready " + strings.Repeat("é", 2000), ReplyTo: "m1"}); err != nil {
			t.Fatal(err)
		}
		m := b.platform.Messages()[0]
		switch {
		case b.platform.Calls() != 1 || m.Type != "template" || m.Template != "news" || m.ReplyTo != "":
			t.Errorf("%d calls, sent %+v", b.platform.Calls(), m)
		case bare && m.Text != "":
			t.Errorf("a variable for a template that has none: %q", m.Text)
		case !bare && (!strings.HasPrefix(m.Text, "your order is ready éé") || !strings.HasSuffix(m.Text, "é…")):
			t.Errorf("variable %q", m.Text)
		}
		_, err := b.send(channels.Part{Text: "sure?", Buttons: buttons()})
		if c, _ := class(err); c != channels.PermanentMessage {
			t.Errorf("a question outside the window: %v, want it refused for good", err)
		}
		b.say("m2", "hi again")
		if _, err := b.send(channels.Part{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		if m := b.platform.Messages()[1]; m.Type != "text" {
			t.Errorf("after a new message: sent %+v, want text", m)
		}
	}
}

// After a restart only Meta knows: its refusal is temporary, and the next
// attempt is the template.
func TestSend_TemplateAfter131047(t *testing.T) {
	t.Parallel()
	b := newBed(t, withTemplate(false))
	_, err := b.send(channels.Part{Text: "late"})
	if c, code := class(err); c != channels.Temporary || code != "131047" {
		t.Fatalf("first attempt: %v, want it temporary", err)
	}
	if _, err := b.send(channels.Part{Text: "late"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages(); len(m) != 1 || m[0].Type != "template" || b.platform.Calls() != 2 {
		t.Errorf("%d calls, sent %+v", b.platform.Calls(), m)
	}
}

// HTTP 200 isn't delivery: the failure comes as a status, with the key of the
// part, and closes the window for what follows.
func TestStatus_FailedAfter200(t *testing.T) {
	t.Parallel()
	b := newBed(t, withTemplate(false))
	b.say("m1", "hi")
	failed := whatsappcloudtest.Failed("wamid.OUT1", ana, "wa:"+ana+"#1", 131047)
	if w := b.platform.Deliver(b.platform.Batch(b.platform.Change(object{"statuses": []object{failed}}))); w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	if len(b.statuses) != 1 {
		t.Fatalf("%d reports", len(b.statuses))
	}
	u := b.statuses[0]
	if u.State != channels.Undelivered || u.Key != "wa:"+ana+"#1" || u.ID != "wamid.OUT1" || u.Chat.ID != ana ||
		u.Err.Class != channels.PermanentMessage || u.Err.Code != "131047" || !strings.Contains(u.Err.Error(), "why it failed") || u.At.Unix() != 1700000002 {
		t.Errorf("report %+v", u)
	}
	if _, err := b.send(channels.Part{Text: "next"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages()[0]; m.Type != "template" {
		t.Errorf("after 131047 as a status: sent %+v, want the template", m)
	}
}

// A handler that expects messages must not fall over statuses, whatever their
// order; those that say nothing new are left out.
func TestStatus_AllKinds(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var all []object
	for _, s := range []string{"read", "delivered", "sent", "played", "failed", "deleted", "brandnew"} {
		all = append(all, object{"id": "wamid.1", "status": s, "recipient_id": ana, "conversation": object{"id": "c"}, "pricing": object{"billable": true}})
	}
	if w := b.platform.Deliver(b.platform.Batch(b.platform.Change(object{"statuses": all}))); w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	var got []channels.DeliveryState
	for _, u := range b.statuses {
		got = append(got, u.State)
	}
	if d := cmp.Diff([]channels.DeliveryState{channels.Read, channels.Delivered, channels.Read, channels.Undelivered}, got); d != "" {
		t.Error(d)
	}
	b.report = &channels.RefusedError{Reason: channels.RefusedUnavailable}
	if w := b.platform.Deliver(b.platform.Batch(b.platform.Change(object{"statuses": all}))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a report that couldn't be saved: status %d, want 503", w.Code)
	}
}

func TestTyping_MarksTheNewestMessageAsRead(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	until := b.clock.Now().Add(25 * time.Second)
	b.adapter.Typing(t.Context(), b.chat(), until) // nothing to mark yet
	b.say("m1", "hi")
	b.clock.advance(time.Second)
	b.say("m2", "are you there?")
	b.adapter.Typing(t.Context(), b.chat(), until)
	b.adapter.Typing(t.Context(), b.chat(), time.Time{}) // can't be taken away
	b.say("m1", "hi")                                    // delivered again
	reads, typing := b.platform.Reads()
	if d := cmp.Diff([]string{"m2"}, reads); d != "" || len(typing) != 1 {
		t.Errorf("read %v, typing %v", reads, typing)
	}
	if b.platform.Calls() != 1 {
		t.Errorf("%d calls, want 1", b.platform.Calls())
	}
	off := newBed(t, func(c *whatsappcloud.Config) { c.MarkRead = false })
	off.say("m1", "hi")
	off.adapter.Typing(t.Context(), off.chat(), until)
	if off.platform.Calls() != 0 || off.adapter.Capabilities(off.chat()).Typing != 0 {
		t.Error("mark_read: false, and yet messages are marked")
	}
}
