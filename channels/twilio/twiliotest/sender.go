package twiliotest

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what Twilio signs with
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
)

// Serve tells the platform what answers at the webhook's address.
func (p *Platform) Serve(h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.webhook = h
}

// Address is the webhook's, as the platform knows it.
func (p *Platform) Address() string { return p.Public + "/webhooks/" + p.Name }

// Sign is the signature of a form posted to address.
func Sign(token, address string, form url.Values) string {
	var b strings.Builder
	b.WriteString(address)
	names := []string{}
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		seen := []string{}
		for _, v := range form[name] {
			if !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		slices.Sort(seen)
		for _, v := range seen {
			b.WriteString(name)
			b.WriteString(v)
		}
	}
	mac := hmac.New(sha1.New, []byte(token))
	mac.Write([]byte(b.String()))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Request is one to the webhook, at the end of whatever proxies there are: its
// host and scheme are not those of the public address.
type Request struct {
	Method string // POST
	// Query is sent as it is.
	Query string
	// Type is the body's content type, a form where empty.
	Type      string
	Body      string
	Signature string
	Header    http.Header
}

// Do makes a request as it is.
func (p *Platform) Do(q Request) *httptest.ResponseRecorder {
	if q.Method == "" {
		q.Method = http.MethodPost
	}
	target := "/"
	if q.Query != "" {
		target += "?" + q.Query
	}
	r := httptest.NewRequestWithContext(context.Background(), q.Method, target, strings.NewReader(q.Body))
	r.Host = "10.0.0.7:8080"
	if q.Type == "" {
		q.Type = "application/x-www-form-urlencoded; charset=UTF-8"
	}
	r.Header.Set("Content-Type", q.Type)
	maps.Copy(r.Header, q.Header)
	if q.Signature != "" {
		r.Header.Set("X-Twilio-Signature", q.Signature)
	}
	p.mu.Lock()
	h := p.webhook
	p.mu.Unlock()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Deliver signs a form and posts it, with query behind the address.
func (p *Platform) Deliver(form url.Values, query string) *httptest.ResponseRecorder {
	address := p.Address()
	if query != "" {
		address += "?" + query
	}
	return p.Do(Request{Query: query, Body: form.Encode(), Signature: Sign(p.Token, address, form)})
}

// Text is a message that was typed.
func (p *Platform) Text(sid, from, to, body string) url.Values {
	f := url.Values{
		"MessageSid": {sid}, "SmsSid": {sid}, "SmsMessageSid": {sid}, "AccountSid": {p.AccountSID}, "From": {from}, "To": {to}, "Body": {body},
		"NumMedia": {"0"}, "NumSegments": {"1"}, "SmsStatus": {"received"}, "ApiVersion": {"2010-04-01"},
	}
	if phone, ok := strings.CutPrefix(from, "whatsapp:"); ok {
		f.Set("ProfileName", "Ana")
		f.Set("WaId", strings.TrimPrefix(phone, "+"))
		f.Set("MessageType", "text")
	}
	return f
}

// Report posts the status callback of a message that was taken.
func (p *Platform) Report(m Message, status, code string) *httptest.ResponseRecorder {
	f := url.Values{
		"MessageSid": {m.SID}, "SmsSid": {m.SID}, "AccountSid": {p.AccountSID}, "From": {m.From}, "To": {m.To},
		"MessageStatus": {status}, "SmsStatus": {status}, "ApiVersion": {"2010-04-01"},
	}
	if code != "" {
		f.Set("ErrorCode", code)
	}
	_, query, _ := strings.Cut(m.Callback, "?")
	return p.Do(Request{Query: query, Body: f.Encode(), Signature: Sign(p.Token, m.Callback, f)})
}
