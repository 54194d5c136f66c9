package whatsappcloudtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
)

// Object is a piece of JSON.
type Object = map[string]any

// Serve tells the platform where the webhook is.
func (p *Platform) Serve(h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.webhook = h
}

// Sign is the signature of a body.
func (p *Platform) Sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(p.AppSecret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Post delivers a body with the signature given, none where it is empty.
func (p *Platform) Post(body []byte, signature string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if signature != "" {
		r.Header.Set("X-Hub-Signature-256", signature)
	}
	return p.do(r)
}

// Get asks the webhook, as the handshake does.
func (p *Platform) Get(query string) *httptest.ResponseRecorder {
	return p.do(httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/?"+query, nil))
}

func (p *Platform) do(r *http.Request) *httptest.ResponseRecorder {
	p.mu.Lock()
	h := p.webhook
	p.mu.Unlock()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Deliver signs a batch and posts it.
func (p *Platform) Deliver(batch Object) *httptest.ResponseRecorder {
	body, err := json.Marshal(batch)
	if err != nil {
		panic(err) // a test's mistake
	}
	return p.Post(body, p.Sign(body))
}

// Batch is a delivery of changes, one entry each.
func (p *Platform) Batch(changes ...Object) Object {
	entries := []Object{}
	for _, c := range changes {
		entries = append(entries, Object{"id": p.WABAID, "changes": []Object{c}})
	}
	return Object{"object": "whatsapp_business_account", "entry": entries}
}

// Change is what one change of this number carries; more is set in its value.
func (p *Platform) Change(more Object) Object {
	v := Object{
		"messaging_product": "whatsapp",
		"metadata":          Object{"display_phone_number": p.Number, "phone_number_id": p.PhoneNumberID},
	}
	maps.Copy(v, more)
	return Object{"field": "messages", "value": v}
}

// From is messages of one sender, with the contact that belongs to them.
func (p *Platform) From(phone, name string, messages ...Object) Object {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		m["from"] = phone
		if _, ok := m["timestamp"]; !ok {
			m["timestamp"] = strconv.FormatInt(p.Now().Unix(), 10)
		}
		if id, ok := m["id"].(string); ok {
			p.inbound[id] = phone
		}
		p.wrote[phone] = p.Now()
		if group, ok := m["group_id"].(string); ok {
			p.wrote[group] = p.Now()
		}
	}
	return p.Change(Object{"contacts": []Object{{"wa_id": phone, "profile": Object{"name": name}}}, "messages": messages})
}

// Text is a message that was typed.
func Text(id, text string) Object {
	return Object{"id": id, "type": "text", "text": Object{"body": text}}
}

// Press is the press of a reply button below message on.
func Press(id, button, title, on string) Object {
	return Object{
		"id": id, "type": "interactive", "context": Object{"id": on},
		"interactive": Object{"type": "button_reply", "button_reply": Object{"id": button, "title": title}},
	}
}

// Failed is the status of a message that did not arrive.
func Failed(id, to, callback string, code int) Object {
	s := Object{
		"id": id, "status": "failed", "timestamp": "1700000002", "recipient_id": to,
		"errors": []Object{{"code": code, "title": "Message undeliverable", "message": "Message undeliverable", "error_data": Object{"details": "why it failed"}}},
	}
	if callback != "" {
		s["biz_opaque_callback_data"] = callback
	}
	return s
}
