package twilio_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/twilio"
	"github.com/parley-bot/parley/channels/twilio/twiliotest"
	"github.com/parley-bot/parley/internal/secret"
)

// Signatures that Twilio's own documents and libraries give, so that both sides
// can't be wrong together.
func TestSignature_KnownVectors(t *testing.T) {
	t.Parallel()
	const page = "https://mycompany.com/myapp.php?foo=1&bar=2"
	for want, tc := range map[string]struct {
		address string
		form    url.Values
	}{
		"vOEb5UThFn24KEfnOFLQY2AE5FY=": {page, url.Values{
			"Digits": {"1234"}, "CallSid": {"CA1234567890ABCDE"}, "To": {"+18005551212"}, "Caller": {"+14158675309"},
			"From": {"+14158675309"}, "ReasonConferenceEnded": {"test"}, "Reason": {"Participant"},
		}},
		"NBdBDr/T/lgjI+tlgpXjKZQZs/k=": {page, url.Values{"property": {"value"}, "boolean": {"true"}}},
		"tkgqNMK/5KFPCiqmtw8YEBNhTQ4=": {"https://bot.example.com/hooks/twilio", url.Values{
			"Body": {"sí"}, "From": {"whatsapp:+15550001111"}, "To": {"whatsapp:+15550002222"},
			"MessageSid": {"SM00000000000000000000000000000001"}, "NumMedia": {"0"}, "ProfileName": {""},
		}},
		"a9nBmqA0ju/hNViExpshrM61xv4=": {page + "&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620", nil},
	} {
		if got := twilio.Sign("12345", tc.address, tc.form); got != want {
			t.Errorf("%s: adapter signs %s, want %s", tc.address, got, want)
		}
		if got := twiliotest.Sign("12345", tc.address, tc.form); got != want {
			t.Errorf("%s: platform signs %s, want %s", tc.address, got, want)
		}
	}
}

// The address is the configured one: not what the proxy passed on, nor what a
// caller claims. The query is taken as it was sent, the standard port may stand
// there or not, and repeated and empty fields count.
func TestWebhook_Signature(t *testing.T) {
	t.Parallel()
	const here = "https://bot.example.com/webhooks/sms"
	type request struct {
		public, signedFor, query string
		change                   func(url.Values)
		header                   http.Header
		token                    string
		code                     int
	}
	claim := http.Header{"X-Forwarded-Host": {"evil.example.com"}, "X-Forwarded-Proto": {"http"}, "Forwarded": {"host=evil.example.com"}}
	for name, tc := range map[string]request{
		"behind TLS termination":      {signedFor: here, code: 200},
		"with the port":               {signedFor: "https://bot.example.com:443/webhooks/sms", code: 200},
		"configured with the port":    {public: "https://bot.example.com:443/", signedFor: here, code: 200},
		"plain HTTP":                  {public: "http://bot.example.com", signedFor: "http://bot.example.com:80/webhooks/sms", code: 200},
		"another port":                {public: "https://bot.example.com:8443", signedFor: "https://bot.example.com:8443/webhooks/sms", code: 200},
		"another port left out":       {public: "https://bot.example.com:8443", signedFor: here, code: 401},
		"a path in front":             {public: "https://example.com/bots/one", signedFor: "https://example.com/bots/one/webhooks/sms", code: 200},
		"a query as it was sent":      {signedFor: here, query: "b=2&a=1+x%20y&a=%7e", code: 200},
		"forwarded headers":           {signedFor: here, header: claim, code: 200},
		"signed for what they claim":  {signedFor: "http://evil.example.com/webhooks/sms", header: claim, code: 401},
		"signed for http":             {signedFor: "http://bot.example.com/webhooks/sms", code: 401},
		"signed for another channel":  {signedFor: "https://bot.example.com/webhooks/wa", code: 401},
		"another account's token":     {signedFor: here, token: "54321", code: 401},
		"a repeated field":            {signedFor: here, change: func(f url.Values) { f["Extra"] = []string{"b", "a", "b"} }, code: 200},
		"an empty and a new field":    {signedFor: here, change: func(f url.Values) { f["Empty"], f["BrandNew"] = []string{""}, []string{`{"a":1}`} }, code: 200},
		"nothing but media, no text":  {signedFor: here, change: func(f url.Values) { f["Body"], f["NumMedia"] = []string{""}, []string{"1"} }, code: 200},
		"a query that wasn't signed":  {signedFor: here, query: "", header: nil, code: 200},
		"the port of another service": {signedFor: "https://bot.example.com:80/webhooks/sms", code: 401},
	} {
		b := newBed(t, func(c *twilio.Config) {
			if tc.public != "" {
				c.PublicURL = tc.public
			}
		})
		f := b.platform.Text("SM1", ana, sms, "olá & ç+ñ")
		if tc.change != nil {
			tc.change(f)
		}
		address, token := tc.signedFor, b.platform.Token
		if tc.query != "" {
			address += "?" + tc.query
		}
		if tc.token != "" {
			token = tc.token
		}
		w := b.platform.Do(twiliotest.Request{Query: tc.query, Body: f.Encode(), Header: tc.header, Signature: twiliotest.Sign(token, address, f)})
		if w.Code != tc.code {
			t.Errorf("%s: status %d, want %d", name, w.Code, tc.code)
		}
		if accepted := len(b.got) == 1; accepted != (tc.code == http.StatusOK) {
			t.Errorf("%s: accepted %v", name, b.got)
		}
	}
}

func TestWebhook_SignatureTamperedOrAbsent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	f := b.platform.Text("SM1", ana, sms, "pay 1")
	good := twiliotest.Sign(b.platform.Token, b.platform.Address(), f)
	changed := b.platform.Text("SM1", ana, sms, "pay 1000")
	repeated := b.platform.Text("SM1", ana, sms, "pay 1")
	repeated.Add("Body", "pay 1000")
	for name, q := range map[string]twiliotest.Request{
		"absent":                 {Body: f.Encode()},
		"no base64":              {Body: f.Encode(), Signature: "%%%"},
		"cut":                    {Body: f.Encode(), Signature: good[:8]},
		"another text":           {Body: changed.Encode(), Signature: good},
		"a second value":         {Body: repeated.Encode(), Signature: good},
		"a query added":          {Body: f.Encode(), Query: "a=1", Signature: good},
		"the form as JSON":       {Body: "{}", Type: "application/json", Signature: twiliotest.Sign(b.platform.Token, b.platform.Address(), nil)},
		"the form as plain text": {Body: f.Encode(), Type: "text/plain", Signature: good},
		"as a GET":               {Method: "GET", Query: f.Encode(), Signature: good},
		"empty-token signature":  {Body: f.Encode(), Signature: twiliotest.Sign("", b.platform.Address(), f)},
	} {
		if w := b.platform.Do(q); w.Code != http.StatusUnauthorized || w.Body.Len() > 0 {
			t.Errorf("%s: status %d, body %q; want a bare 401", name, w.Code, w.Body)
		}
	}
	if len(b.got) > 0 {
		t.Errorf("accepted %+v", b.got)
	}
}

// A body that is no form is vouched for by its digest in the address.
func TestWebhook_JSONBody(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	body := `{"MessageSid":"SM1","From":"` + ana + `","To":"` + sms + `","Body":"hello","NumMedia":0}`
	sum := sha256.Sum256([]byte(body))
	query := "bodySHA256=" + hex.EncodeToString(sum[:])
	post := func(body, query string) int {
		return b.platform.Do(twiliotest.Request{
			Type: "application/json", Body: body, Query: query, Signature: twiliotest.Sign(b.platform.Token, b.platform.Address()+"?"+query, nil),
		}).Code
	}
	if code := post(body, query); code != http.StatusOK || len(b.got) != 1 || b.got[0].Text != "hello" {
		t.Errorf("status %d, got %+v", code, b.got)
	}
	for name, code := range map[string]int{
		"another body": post(strings.Replace(body, "hello", "hullo", 1), query), "no digest": post(body, "a=1"), "a broken digest": post(body, "bodySHA256=zz"),
	} {
		if code != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, code)
		}
	}
	empty := sha256.Sum256([]byte("["))
	if code := post("[", "bodySHA256="+hex.EncodeToString(empty[:])); code != http.StatusBadRequest {
		t.Errorf("no JSON: status %d, want 400", code)
	}
}

// A webhook that is set to GET carries everything in its query.
func TestWebhook_GET(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	query := b.platform.Text("SM1", ana, sms, "hello").Encode()
	w := b.platform.Do(twiliotest.Request{Method: "GET", Query: query, Signature: twiliotest.Sign(b.platform.Token, b.platform.Address()+"?"+query, nil)})
	if w.Code != http.StatusOK || len(b.got) != 1 {
		t.Errorf("status %d, got %+v", w.Code, b.got)
	}
}

// Whatever is answered with text would be sent to the person.
func TestWebhook_AnswersNeverHoldText(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.platform.Deliver(b.platform.Text("SM1", ana, sms, "hello"), "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/xml; charset=utf-8" ||
		w.Body.String() != `<?xml version="1.0" encoding="UTF-8"?><Response></Response>` {
		t.Errorf("status %d, type %q, body %q", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	b.answer = &channels.RefusedError{Reason: channels.RefusedUnavailable, After: 5 * time.Second}
	w = b.platform.Deliver(b.platform.Text("SM2", ana, sms, "hello"), "")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" || w.Body.Len() > 0 {
		t.Errorf("G1: not committed: status %d, Retry-After %q, body %q; want a bare 503", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	b.answer = errors.New("broken")
	if w := b.platform.Deliver(b.platform.Text("SM2", ana, sms, "hello"), ""); w.Code != http.StatusServiceUnavailable || w.Body.Len() > 0 {
		t.Errorf("a broken sink: status %d, body %q", w.Code, w.Body)
	}
	b.answer = &channels.RefusedError{Reason: channels.RefusedBlank}
	if w := b.platform.Deliver(b.platform.Text("SM2", ana, sms, " "), ""); w.Code != http.StatusOK {
		t.Errorf("refused for good: status %d, want 200", w.Code)
	}
	for _, q := range []twiliotest.Request{{Method: "PUT"}, {Method: "DELETE"}, {Body: strings.Repeat("a", 1<<20+1)}, {Body: "a=%zz"}} {
		if w := b.platform.Do(q); w.Code < 400 || w.Body.Len() > 0 {
			t.Errorf("%s: status %d, body %q", q.Method, w.Code, w.Body)
		}
	}
}

func FuzzWebhook(f *testing.F) {
	p := &twiliotest.Platform{Config: twiliotest.Config{AccountSID: "AC1", Token: "12345", Public: "https://bot.example.com", Name: "sms"}}
	c := twilio.Defaults()
	c.AccountSID, c.AuthToken, c.From, c.PublicURL, c.ContentSID = "AC1", secret.New(p.Token), sms, p.Public, "HX1"
	f.Add(p.Text("SM1", ana, sms, "hello").Encode(), "")
	f.Add("MessageSid=SM1&From=%2B1&To=%2B15550002222&NumMedia=99999999999&ButtonPayload=0123456789abcdef.y", "k=eA")
	f.Add("MessageSid=SM1&MessageStatus=failed&ErrorCode=30007&To=x", "k=%%%")
	f.Add("a=1;b=2&%=", "")
	f.Fuzz(func(t *testing.T, body, query string) {
		b := &bed{t: t}
		a, err := twilio.New(c, twilio.Deps{Name: p.Name})
		if err != nil {
			t.Fatal(err)
		}
		p.Serve(a.Webhook(b))
		form, err := url.ParseQuery(body)
		address := p.Address()
		if strings.Trim(query, "abcdefghijklmnopqrstuvwxyz0123456789=&%+") != "" {
			query = ""
		}
		if query != "" {
			address += "?" + query
		}
		w := p.Do(twiliotest.Request{Body: body, Query: query, Signature: twiliotest.Sign(p.Token, address, form)})
		switch {
		case err == nil && w.Code != http.StatusOK, err != nil && w.Code != http.StatusBadRequest:
			t.Errorf("status %d where parsing says %v", w.Code, err)
		case len(b.got)+len(b.statuses) > 1:
			t.Errorf("one request made %v and %v", b.got, b.statuses)
		}
		for _, in := range b.got {
			if in.ID == "" || in.Chat.ID == "" || in.From.ID == "" || (in.Kind == channels.KindPress) != (in.Button != "") || len(in.Media) > 21 {
				t.Errorf("handed on: %+v", in)
			}
		}
	})
}
