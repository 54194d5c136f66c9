package twilio_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/twilio"
	"github.com/parley-bot/parley/channels/twilio/twiliotest"
	"github.com/parley-bot/parley/internal/secret"
)

func question(to channels.ChatID) channels.Part {
	return channels.Part{Chat: channels.Chat{ID: to}, Text: "About to: Place order\n• 5 × cake", Key: "wa:" + string(to) + "#1", Buttons: []channels.Button{
		{ID: "0123456789abcdef0123456789abcdef.y", Label: "Yes", Value: "yes"}, {ID: "0123456789abcdef0123456789abcdef.n", Label: "No", Value: "no"},
	}}
}

func TestSend(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	got, err := b.adapter.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: ana}, Text: "hello & ñ", Key: "sms:" + ana + "#1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []twiliotest.Message{{
		SID: string(got.ID), To: ana, From: sms, Body: "hello & ñ",
		Callback: "https://bot.example.com/webhooks/sms?k=c21zOisxNTU1MDAwMTExMSMx",
	}}
	if d := cmp.Diff(want, b.platform.Messages()); d != "" {
		t.Error(d)
	}
}

// Capabilities go by the address: no buttons on SMS, and on WhatsApp only with
// a template.
func TestCapabilities_B24_ByAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*twilio.Config)
		chat    channels.ChatID
		buttons bool
		window  bool
	}{
		"SMS":                    {func(*twilio.Config) {}, ana, false, false},
		"WhatsApp":               {onWhatsApp, waAna, false, true},
		"WhatsApp with template": {withContent, waAna, true, true},
		"SMS beside a template":  {withContent, ana, false, false},
	} {
		c := newBed(t, tc.change).adapter.Capabilities(channels.Chat{ID: tc.chat})
		if (c.Buttons != nil) != tc.buttons || (c.ReplyWindow > 0) != tc.window || c.TextMax != 1600 || c.Edit.Text || c.Idempotent || c.Typing != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestSend_QuickReplies(t *testing.T) {
	t.Parallel()
	b := newBed(t, withContent)
	part := question(waAna)
	if _, err := b.adapter.Send(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	m := b.platform.Messages()[0]
	want := map[string]string{"1": part.Text, "2": "0123456789abcdef0123456789abcdef.y", "3": "0123456789abcdef0123456789abcdef.n"}
	if d := cmp.Diff(want, m.Variables); d != "" || m.Content != b.platform.Content || m.Body != "" || m.From != wa {
		t.Errorf("sent %+v: %s", m, d)
	}
}

// A template that doesn't work doesn't keep questions from being asked: the
// next attempt is in words, and so are all others.
func TestSend_QuickRepliesGivenUp(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(b *bed, m func() twiliotest.Message){
		"at once": func(b *bed, _ func() twiliotest.Message) {
			b.platform.Fail(twiliotest.Fault{Status: 400, Code: 21656, Message: "The ContentVariables parameter is invalid"})
			if c, code := class(second(b.adapter.Send(b.t.Context(), question(waAna)))); c != channels.Temporary || code != "21656" {
				b.t.Errorf("class %s, code %s, want it temporary", c, code)
			}
		},
		"by a report": func(b *bed, m func() twiliotest.Message) { b.platform.Report(m(), "failed", "63013") },
	} {
		b := newBed(t, withContent)
		broken(b, func() twiliotest.Message {
			if _, err := b.adapter.Send(t.Context(), question(waAna)); err != nil {
				t.Fatal(err)
			}
			return b.platform.Messages()[0]
		})
		if _, err := b.adapter.Send(t.Context(), question(waAna)); err != nil {
			t.Fatal(err)
		}
		all := b.platform.Messages()
		if m := all[len(all)-1]; m.Content != "" || m.Body != "About to: Place order\n• 5 × cake\n(Yes / No)" {
			t.Errorf("%s: sent %+v, want the question in words", name, m)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSend_ErrorCodes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	part := channels.Part{Chat: channels.Chat{ID: ana}, Text: "x"}
	for want, codes := range map[channels.SendClass][]int{
		channels.RateLimited:      {20429, 14107, 63018},
		channels.Temporary:        {20500, 20503, 30001, 30008},
		channels.Unknown:          {20504},
		channels.PermanentToken:   {20003, 63007},
		channels.PermanentChat:    {21211, 21610, 21614, 21408, 30003, 30005, 30006, 30004, 63003, 63024, 63015},
		channels.PermanentMessage: {21617, 21606, 21603, 30007, 30034, 63013, 63021, 63016, 99999},
	} {
		for _, code := range codes {
			b.platform.Fail(twiliotest.Fault{Status: 400, Code: code, Message: "no"})
			if got := channels.ClassOf(second(b.adapter.Send(t.Context(), part))); got != want {
				t.Errorf("code %d: class %s, want %s", code, got, want)
			}
		}
	}
	for status, want := range map[int]channels.SendClass{
		401: channels.PermanentToken, 403: channels.PermanentToken, 404: channels.PermanentMessage, 429: channels.RateLimited,
		500: channels.Temporary, 503: channels.Temporary, 504: channels.Unknown,
	} {
		b.platform.Fail(twiliotest.Fault{Status: status, Code: 99999, Message: "no"})
		if got := channels.ClassOf(second(b.adapter.Send(t.Context(), part))); got != want {
			t.Errorf("status %d with a code that nobody knows: class %s, want %s", status, got, want)
		}
	}
}

// Only Twilio's own errors say something of the account, the chat or the message.
func TestSend_G5_ForeignAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	part := channels.Part{Chat: channels.Chat{ID: ana}, Text: "x"}
	for _, f := range channeltest.Foreigners() {
		b.platform.Fail(twiliotest.Fault{Status: f.Status, Body: f.Body + " "})
		if got := channels.ClassOf(second(b.adapter.Send(t.Context(), part))); got != f.Want {
			t.Errorf("%d %s: class %s, want %s", f.Status, f.Body, got, f.Want)
		}
	}
}

// The hints that operators need.
func TestSend_ErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for code, want := range map[int]string{21610: "STOP", 63016: "only a template", 20003: "auth_token", 21606: "whatsapp:+"} {
		b.platform.Fail(twiliotest.Fault{Status: 400, Code: code, Message: "no"})
		_, err := b.adapter.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: ana}, Text: "x"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("code %d: %v, want %q in it", code, err, want)
		}
	}
}

// The SDK knows no context; the call ends with it all the same, and whether it
// may have been taken is told.
func TestSend_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	b := newBed(t, func(c *twilio.Config) {
		c.APIURL = serve(t, func(http.ResponseWriter, *http.Request) {
			arrived <- struct{}{}
			<-release
		})
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	part := channels.Part{Chat: channels.Chat{ID: ana}, Text: "x"}
	if c, _ := class(second(b.adapter.Send(ctx, part))); c != channels.Unknown {
		t.Errorf("ended after the request had left: class %s, want unknown", c)
	}
	if c, _ := class(second(b.adapter.Send(ctx, part))); c != channels.Temporary {
		t.Errorf("ended before: class %s, want temporary", c)
	}
	refused := newBed(t, func(c *twilio.Config) { c.APIURL = "http://127.0.0.1:1" })
	if c, _ := class(second(refused.adapter.Send(t.Context(), part))); c != channels.Temporary {
		t.Errorf("nothing listens: class %s, want temporary", c)
	}
}

func TestCheckAndRegister(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if account, err := b.adapter.Check(t.Context()); err != nil || !strings.HasPrefix(account, "La Espiga (AC") {
		t.Errorf("account %q, %v", account, err)
	}
	for range 2 {
		if err := b.adapter.RegisterWebhook(t.Context(), b.platform.Address()); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.platform.Number(nil); n.URL != b.platform.Address() || n.Method != "POST" {
		t.Errorf("registered %+v", n)
	}
	if s, err := b.adapter.WebhookStatus(t.Context()); err != nil || s.URL != b.platform.Address() || s.LastError != "" {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := b.adapter.RegisterWebhook(t.Context(), ""); err != nil || b.platform.Number(nil).URL != "" {
		t.Errorf("removed: %v, %+v", err, b.platform.Number(nil))
	}
	b.platform.Number(func(n *twiliotest.Number) { n.Application = "AP1" })
	if err := b.adapter.RegisterWebhook(t.Context(), "https://x.example.com"); err == nil || !strings.Contains(err.Error(), "TwiML application") {
		t.Errorf("a number of an application: %v", err)
	}
	if s, err := b.adapter.WebhookStatus(t.Context()); err != nil || s.LastError == "" {
		t.Errorf("a number of an application: %+v, %v", s, err)
	}
	b.platform.Suspend()
	if _, err := b.adapter.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("a suspended account: %v", err)
	}
	for _, change := range []func(*twilio.Config){onWhatsApp, func(c *twilio.Config) { c.From, c.MessagingServiceSID = "", "MG1" }} {
		o := newBed(t, change)
		if err := o.adapter.RegisterWebhook(t.Context(), o.platform.Address()); err == nil || !strings.Contains(err.Error(), o.platform.Address()) {
			t.Errorf("where there is no way: %v, want it to say what to paste", err)
		}
	}
	wrong := newBed(t, func(c *twilio.Config) { c.AuthToken = secret.New("wrong99999") })
	if _, err := wrong.adapter.Check(t.Context()); err == nil || strings.Contains(err.Error(), "wrong99999") {
		t.Errorf("a wrong token: %v", err)
	}
}

func TestConfig_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := func() twilio.Config {
		c := twilio.Defaults()
		c.AccountSID, c.AuthToken, c.From, c.PublicURL = "AC1", secret.New("12345"), sms, "https://bot.example.com"
		return c
	}
	for _, from := range []string{sms, wa, "12345"} {
		c := good()
		c.From = from
		if err := c.Validate(); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
	}
	for want, change := range map[string]func(*twilio.Config){
		"SK…":                   func(c *twilio.Config) { c.AccountSID = "SK1" },
		"anybody's name":        func(c *twilio.Config) { c.AuthToken = secret.String{} },
		"letters and digits":    func(c *twilio.Config) { c.AuthToken = secret.New("tok_en") },
		"line break":            func(c *twilio.Config) { c.AuthToken = secret.New("token\n") },
		"is missing (or":        func(c *twilio.Config) { c.From = "" },
		"can't be answered":     func(c *twilio.Config) { c.From = "Bakery" },
		"a number such as":      func(c *twilio.Config) { c.From = "whatsapp: +1 555" },
		"a service's SID":       func(c *twilio.Config) { c.MessagingServiceSID = "SM1" },
		"a content template's":  func(c *twilio.Config) { c.ContentSID = "x" },
		"such as https://api.t": func(c *twilio.Config) { c.APIURL = "api.twilio.com" },
		"server.public_url":     func(c *twilio.Config) { c.PublicURL = "" },
	} {
		c := good()
		change(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "tok_en") || strings.Contains(err.Error(), "12345")) {
			t.Errorf("%v holds the token", err)
		}
	}
}
