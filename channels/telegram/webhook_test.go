package telegram_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/secret"
)

const update = `{"update_id":1,"message":{"message_id":7,"date":1700000000,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ana"},"text":"hi"}}`

func TestWebhook_Secret(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	url := b.serve()
	for name, tt := range map[string]struct {
		secret string
		want   int
	}{
		"right":        {hookSecret, 200},
		"absent":       {"", 401},
		"other case":   {strings.ToUpper(hookSecret), 401},
		"a beginning":  {hookSecret[:5], 401},
		"with an end":  {hookSecret + "x", 401},
		"with a space": {hookSecret + " x", 401},
	} {
		if code, _ := post(t, url, tt.secret, update); code != tt.want {
			t.Errorf("%s: %d, want %d", name, code, tt.want)
		}
	}
	if len(b.sink.got) != 1 {
		t.Errorf("%d received, want 1", len(b.sink.got))
	}
	// Two headers are none.
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(update))
	r.Header["X-Telegram-Bot-Api-Secret-Token"] = []string{hookSecret, hookSecret}
	b.Webhook(b.sink).ServeHTTP(rec, r)
	if rec.Code != http.StatusUnauthorized {
		t.Errorf("two headers: %d", rec.Code)
	}
}

func TestWebhook_NotReadBeforeTheSecretIsRight(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	r.Body = failing{t}
	rec := httptest.NewRecorder()
	b.Webhook(b.sink).ServeHTTP(rec, r)
	if rec.Code != http.StatusUnauthorized {
		t.Errorf("status %d", rec.Code)
	}
}

type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("the body was read")
	return 0, errors.New("no")
}
func (failing) Close() error { return nil }

func TestWebhook_Requests(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	url := b.serve()
	for name, tt := range map[string]struct {
		body string
		want int
	}{
		"an update of a new kind":       {`{"update_id":1,"brand_new":{}}`, 200},
		"mistake 8: it can't be read":   {`{"update_id":1,"message":{"message_id":"x"}}`, 200},
		"no JSON":                       {`update=1`, 400},
		"empty":                         {"", 400},
		"too large":                     {`"` + strings.Repeat("x", 5<<20) + `"`, 413},
		"no object":                     {`[]`, 200},
		"deep, within Go's own measure": {strings.Repeat("[", 9000) + strings.Repeat("]", 9000), 200},
	} {
		if code, _ := post(t, url, hookSecret, tt.body); code != tt.want {
			t.Errorf("%s: %d, want %d", name, code, tt.want)
		}
	}
	b.nothing()
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", hookSecret)
	b.Webhook(b.sink).ServeHTTP(rec, r)
	if rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", rec.Code)
	}
}

func TestWebhook_G1_OkOnlyAfterTheCommit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		want  int
		retry string
	}{
		"committed":             {nil, 200, ""},
		"store away":            {errAway, 503, "5"},
		"store away, says when": {&channels.RefusedError{Reason: channels.RefusedUnavailable, After: 1500 * time.Millisecond}, 503, "2"},
		"mistake 9: never":      {&channels.RefusedError{Reason: channels.RefusedBlank}, 200, ""},
	} {
		b := newBed(t, webhook)
		b.sink.fail(tt.err)
		code, h := post(t, b.serve(), hookSecret, update)
		if code != tt.want || h.Get("Retry-After") != tt.retry {
			t.Errorf("%s: %d, Retry-After %q; want %d, %q", name, code, h.Get("Retry-After"), tt.want, tt.retry)
		}
	}
}

func TestWebhook_G1_DeliveredUntilTaken(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	b.sink.fail(errAway, errAway)
	url := b.serve()
	for range 2 { // registering twice changes nothing
		if err := b.RegisterWebhook(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	b.run()
	b.fake.Say(ana, "one", nil)
	b.fake.Say(ana, "two", nil)
	if one, two := b.next(), b.next(); one.Text != "one" || two.Text != "two" {
		t.Errorf("received %q, %q", one.Text, two.Text)
	}
	b.confirmed()
	if got := b.fake.Answers(); !slices.Equal(got, []int{503, 503, 200, 200}) {
		t.Errorf("answers %v", got)
	}
}

// One message id is one message, whatever the update's id.
func TestWebhook_Mistake07_SameMessageSameID(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	url := b.serve()
	post(t, url, hookSecret, update)
	post(t, url, hookSecret, strings.Replace(update, `"update_id":1`, `"update_id":555`, 1))
	if one, two := b.next(), b.next(); one.ID != two.ID || one.Chat != two.Chat {
		t.Errorf("%+v and %+v", one, two)
	}
}

func TestWebhook_NotInPollingMode(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if code, _ := post(t, b.serve(), "", update); code != http.StatusNotFound {
		t.Errorf("status %d", code)
	}
	b.nothing()
	if err := b.RegisterWebhook(t.Context(), "https://bot.example.com"); err == nil || len(b.fake.Calls("setWebhook")) != 0 {
		t.Errorf("registered in polling mode: %v", err)
	}
}

func TestRegisterWebhook(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook, func(c *telegram.Config, _ *telegramtest.Options) { c.MaxConnections = 7 })
	if err := b.RegisterWebhook(t.Context(), "https://bot.example.com/webhooks/tg"); err != nil {
		t.Fatal(err)
	}
	c := b.fake.Calls("setWebhook")[0]
	if b.fake.Secret() != hookSecret || c.Int("max_connections") != 7 {
		t.Errorf("call %+v", c)
	}
	var kinds []string
	for _, k := range c.Params["allowed_updates"].([]any) {
		kinds = append(kinds, k.(string))
	}
	if !slices.Equal(kinds, []string{"message", "edited_message", "callback_query", "my_chat_member"}) {
		t.Errorf("allowed_updates %v", kinds)
	}
	s, err := b.WebhookStatus(t.Context())
	if err != nil || s.URL != "https://bot.example.com/webhooks/tg" || s.Pending != 0 || s.LastError != "" {
		t.Errorf("status %+v, %v", s, err)
	}
	for range 2 {
		if err := b.RegisterWebhook(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = b.WebhookStatus(t.Context()); err != nil || s.URL != "" {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := b.RegisterWebhook(t.Context(), "ftp://x"); err == nil || channels.ClassOf(err) != channels.PermanentMessage {
		t.Errorf("bad address: %v", err)
	}
}

// An answer of another form than the Bot API's isn't told in types of Go.
func TestWebhookStatus_AnswerOfAnotherForm(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"ok":true,"result":[1]}`, `{"ok":true,"result":{"url":5}}`, `<html>`, `[]`} {
		b := newBed(t, webhook)
		b.fake.Script(telegramtest.Fault{Method: "getWebhookInfo", Status: 200, Raw: raw})
		_, err := b.WebhookStatus(t.Context())
		if err == nil || err.Error() != "unknown: telegram gave no answer: answer makes no sense" {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestWebhook_GroupBeforeTheNameIsKnown(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	url := b.serve()
	group := `{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"group"},"from":{"id":42,"first_name":"Ana"},"text":"@parley_bot hi","entities":[{"type":"mention","offset":0,"length":11}]}}`
	b.fake.Script(telegramtest.Fault{Method: "getMe", Status: 502, Raw: "<html>"})
	if code, _ := post(t, url, hookSecret, group); code != http.StatusServiceUnavailable {
		t.Errorf("status %d while nobody knows whether the bot is meant", code)
	}
	if code, _ := post(t, url, hookSecret, update); code != http.StatusOK {
		t.Errorf("a private message: %d", code)
	}
	b.next()
	if code, _ := post(t, url, hookSecret, group); code != http.StatusOK {
		t.Errorf("status %d", code)
	}
	if in := b.next(); !in.Mentioned || in.Text != "hi" {
		t.Errorf("received %+v", in)
	}
}

func TestRun_WebhookNeverSet(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	stop := b.run()
	b.logs.Until(t, "no webhook is set")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestNew_Settled9_WebhookNeedsASecret(t *testing.T) {
	t.Parallel()
	ok := func() telegram.Config { return telegram.Config{Token: secret.New(telegramtest.Token)} }
	for name, tt := range map[string]struct {
		change func(*telegram.Config)
		want   string
	}{
		"polling by default":      {func(*telegram.Config) {}, ""},
		"no token":                {func(c *telegram.Config) { c.Token = secret.New("") }, "token"},
		"token of another kind":   {func(c *telegram.Config) { c.Token = secret.New("canary secret\n/x") }, "token"},
		"webhook without secret":  {func(c *telegram.Config) { c.Mode = "webhook" }, "secret_token"},
		"webhook":                 {func(c *telegram.Config) { c.Mode, c.SecretToken = "webhook", secret.New("s") }, ""},
		"secret with other signs": {func(c *telegram.Config) { c.SecretToken = secret.New("canary secret") }, "secret_token"},
		"secret too long":         {func(c *telegram.Config) { c.SecretToken = secret.New(strings.Repeat("x", 257)) }, "secret_token"},
		"mode":                    {func(c *telegram.Config) { c.Mode = "gateway" }, "mode"},
		"api_url":                 {func(c *telegram.Config) { c.APIURL = "api.telegram.org" }, "api_url"},
		"api_url with a slash":    {func(c *telegram.Config) { c.APIURL = "http://127.0.0.1:8081/" }, ""},
		"max_connections":         {func(c *telegram.Config) { c.MaxConnections = 101 }, "max_connections"},
	} {
		cfg := ok()
		tt.change(&cfg)
		err := cfg.Validate()
		key := ""
		if many, is := err.(interface{ Unwrap() []error }); is {
			if k, is := errors.AsType[interface {
				error
				Key() string
			}](many.Unwrap()[0]); is {
				key = k.Key()
			}
		}
		if key != tt.want || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v (key %q), want key %q", name, err, key, tt.want)
		}
		if _, newErr := telegram.New(cfg, telegram.Deps{Host: channeltest.NewHost(), Log: quiet()}); (newErr == nil) != (err == nil) {
			t.Errorf("%s: New says %v, Validate %v", name, newErr, err)
		}
	}
}
