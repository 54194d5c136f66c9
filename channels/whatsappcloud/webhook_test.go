package whatsappcloud_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
	"github.com/parley-bot/parley/internal/secret"
)

// The handshake has no signature: it stands outside of that check.
func TestWebhook_HandshakeIsOutsideTheSignatureCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, tc := range map[string]struct {
		query string
		code  int
	}{
		"right":       {"hub.mode=subscribe&hub.verify_token=verify-me&hub.challenge=%3Cb%3E42", 200},
		"wrong token": {"hub.mode=subscribe&hub.verify_token=verify-you&hub.challenge=42", 403},
		"no token":    {"hub.mode=subscribe&hub.challenge=42", 403},
		"wrong mode":  {"hub.mode=unsubscribe&hub.verify_token=verify-me&hub.challenge=42", 403},
		"nothing":     {"", 403},
	} {
		w := b.platform.Get(tc.query)
		if w.Code != tc.code {
			t.Errorf("%s: status %d, want %d", name, w.Code, tc.code)
		}
		want := ""
		if tc.code == http.StatusOK {
			want = "<b>42"
		}
		if w.Body.String() != want {
			t.Errorf("%s: body %q, want %q", name, w.Body, want)
		}
		if want != "" && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: content type %q, which a browser may run", name, w.Header().Get("Content-Type"))
		}
	}
	none := newBed(t, func(c *whatsappcloud.Config) { c.VerifyToken = secret.String{} })
	if w := none.platform.Get("hub.mode=subscribe&hub.verify_token=&hub.challenge=42"); w.Code != http.StatusForbidden {
		t.Errorf("an empty word passes where none is configured: status %d", w.Code)
	}
}

func TestWebhook_SignatureOverTheRawBody(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	// As Meta writes it: escaped, and with blanks that decoding would lose.
	body := []byte(`{ "object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":` +
		`{"metadata":{"phone_number_id":"100"},"messages":[{"id":"wamid.A","from":"15550001111","type":"text","text":{"body":"s\u00ed \/ @"}}]}}]}] }`)
	good := b.platform.Sign(body)
	for name, signature := range map[string]string{
		"absent": "", "empty sum": "sha256=", "no hex": "sha256=zz", "short": good[:len(good)-2], "another algorithm": "sha1=" + good[7:],
		"of another body": b.platform.Sign([]byte("{}")), "upper-case prefix": "SHA256=" + good[7:], "without prefix": good[7:],
	} {
		if w := b.platform.Post(body, signature); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, w.Code)
		}
	}
	if len(b.got) > 0 {
		t.Fatalf("accepted without a signature: %+v", b.got)
	}
	if w := b.platform.Post(body, good); w.Code != http.StatusOK {
		t.Fatalf("the right signature: status %d", w.Code)
	}
	if d := cmp.Diff([]string{"sí / @"}, texts(b.got)); d != "" {
		t.Error(d)
	}
	if w := b.platform.Post([]byte("{"), b.platform.Sign([]byte("{"))); w.Code != http.StatusBadRequest {
		t.Errorf("signed, and no JSON: status %d, want 400", w.Code)
	}
}

// The signature of a known body, so that both sides can't be wrong together.
func TestWebhook_KnownSignature(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	body := []byte(`{"object":"page","entry":[]}`)
	w := b.platform.Post(body, "sha256=e6e9d7a842a48e17f43a34d6125d0d933e2aab92ee37f0993a4d493b50e3d438")
	if w.Code != http.StatusOK {
		t.Errorf("status %d, want 200", w.Code)
	}
}

func TestWebhook_AppSecretIsRequired(t *testing.T) {
	t.Parallel()
	p := whatsappcloudtest.New(whatsappcloudtest.Config{})
	t.Cleanup(p.Close)
	cfg := configOf(p)
	cfg.AppSecret = secret.String{}
	if _, err := whatsappcloud.New(cfg, whatsappcloud.Deps{}); err == nil || !strings.Contains(err.Error(), "anybody") {
		t.Errorf("without app_secret: %v, want it refused", err)
	}
}

// Two entries with two changes, two messages each, statuses between them, and
// a number that isn't this one.
func TestWebhook_G1_WholeBatchIsTaken(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.platform
	two := func(n string) object {
		return p.From(ana, "Ana", whatsappcloudtest.Text("a"+n, "first of "+n), whatsappcloudtest.Text("b"+n, "second of "+n))
	}
	other := p.Change(object{
		"metadata": object{"phone_number_id": "101", "display_phone_number": "15550009999"},
		"messages": []object{whatsappcloudtest.Text("x", "for another number")},
	})
	status := p.Change(object{"statuses": []object{{"id": "wamid.Q", "status": "delivered", "recipient_id": ana, "timestamp": "1700000001"}}})
	batch := object{"object": "whatsapp_business_account", "unknown": true, "entry": []object{
		{"id": p.WABAID, "time": 1, "changes": []object{two("1"), other, status}},
		{"id": p.WABAID, "changes": []object{two("2"), {"field": "account_update", "value": object{"event": "X"}}, {"field": "smb_message_echoes", "value": object{"message_echoes": []object{{"id": "e"}}}}}},
	}}
	if w := p.Deliver(batch); w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	if d := cmp.Diff([]string{"first of 1", "second of 1", "first of 2", "second of 2"}, texts(b.got)); d != "" {
		t.Error(d)
	}
	if len(b.statuses) != 1 || b.statuses[0].State != channels.Delivered || b.statuses[0].ID != "wamid.Q" {
		t.Errorf("statuses %+v", b.statuses)
	}
}

// 503 until everything is in; what is behind a failure isn't tried, so that the
// order in the chat is kept when the batch comes again.
func TestWebhook_G1_UnavailableUntilAllIsCommitted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	away := true
	b.answer = func(in channels.Inbound) error {
		if away && in.ID == "m2" {
			return &channels.RefusedError{Reason: channels.RefusedUnavailable, After: 5 * time.Second}
		}
		return nil
	}
	batch := b.platform.Batch(
		b.platform.From(ana, "Ana", whatsappcloudtest.Text("m1", "1"), whatsappcloudtest.Text("m2", "2")),
		b.platform.From(ana, "Ana", whatsappcloudtest.Text("m3", "3")),
	)
	w := b.platform.Deliver(batch)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" {
		t.Errorf("status %d, Retry-After %q; want 503 and 5", w.Code, w.Header().Get("Retry-After"))
	}
	if d := cmp.Diff([]string{"1"}, texts(b.got)); d != "" {
		t.Errorf("before it is available: %s", d)
	}
	away = false
	if w := b.platform.Deliver(batch); w.Code != http.StatusOK {
		t.Errorf("again: status %d", w.Code)
	}
	if d := cmp.Diff([]string{"1", "1", "2", "3"}, texts(b.got)); d != "" {
		t.Error(d)
	}
	b.answer = func(channels.Inbound) error { return errors.New("broken") }
	if w := b.platform.Deliver(batch); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a broken sink: status %d, want 503", w.Code)
	}
}

// What will never be taken must not come again for seven days.
func TestWebhook_RefusedForGoodIsAnsweredWith200(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.answer = func(in channels.Inbound) error {
		if in.ID == "blank" {
			return &channels.RefusedError{Reason: channels.RefusedBlank}
		}
		return nil
	}
	w := b.platform.Deliver(b.platform.Batch(b.platform.From(ana, "Ana", whatsappcloudtest.Text("blank", " "), whatsappcloudtest.Text("m", "hello"))))
	if w.Code != http.StatusOK {
		t.Errorf("status %d, want 200", w.Code)
	}
	if d := cmp.Diff([]string{"hello"}, texts(b.got)); d != "" {
		t.Error(d)
	}
}

// One strange message doesn't take the others with it.
func TestWebhook_StrangeShapesDontBlockOthers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.platform
	batch := p.Batch(
		object{"field": "messages", "value": "not an object"},
		object{"field": "messages", "value": object{"metadata": object{"phone_number_id": p.PhoneNumberID}, "messages": "no list"}},
		p.From(ana, "Ana", object{"id": "bad", "type": "text", "text": "no object"}, object{"id": "", "type": "text"}, whatsappcloudtest.Text("m", "hello")),
		p.Change(object{"messages": []any{7, nil, "x"}, "statuses": []any{7, object{"id": 7}, object{}}, "contacts": []any{"x"}, "errors": []any{"x", object{"code": 131031}}}),
		p.Change(object{}),
	)
	if w := p.Deliver(batch); w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	if d := cmp.Diff([]string{"hello"}, texts(b.got)); d != "" {
		t.Error(d)
	}
}

func TestWebhook_MethodsAndPaths(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	h := b.adapter.Webhook(b)
	for _, tc := range []struct {
		method, path string
		code         int
	}{{"PUT", "/", 405}, {"DELETE", "/", 405}, {"POST", "/x", 404}, {"GET", "/x", 404}} {
		w := serve(h, tc.method, tc.path)
		if w.Code != tc.code {
			t.Errorf("%s %s: status %d, want %d", tc.method, tc.path, w.Code, tc.code)
		}
	}
}

func FuzzWebhook(f *testing.F) {
	b := &bed{}
	p := &whatsappcloudtest.Platform{Config: whatsappcloudtest.Config{PhoneNumberID: "100", Number: "15550002222", AppSecret: "s", Token: "t", Now: time.Now}}
	for _, m := range samples() {
		body, err := json.Marshal(object{"object": "whatsapp_business_account", "entry": []object{{"changes": []object{{"field": "messages", "value": object{
			"metadata": object{"phone_number_id": "100"}, "messages": []object{m},
			"statuses": []object{whatsappcloudtest.Failed("w", ana, "wa:1#1", 131047)},
		}}}}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[null,{"changes":[null,{"field":"messages","value":{}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a := fuzzed(t, b)
		p.Serve(a.Webhook(b))
		b.got = nil
		w := p.Post(body, p.Sign(body))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d", w.Code)
		}
		for _, in := range b.got {
			if in.ID == "" || in.Chat.ID == "" || in.From.ID == "" || (in.Kind == channels.KindPress) != (in.Button != "") {
				t.Errorf("handed on: %+v", in)
			}
		}
	})
}
