package whatsappcloudtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels/platformtest"
)

// Config is the account. All fields have defaults.
type Config struct {
	PhoneNumberID string // 100
	Number        string // 15550002222
	WABAID        string // 900
	Token         string // EAAtoken
	AppSecret     string // app-secret
	VerifyToken   string // verify-me
	// Now is the platform's clock.
	Now func() time.Time
	// LateWindow reports a closed window by a status instead of at once, as
	// Meta mostly does.
	LateWindow bool
}

// Message is one that was taken.
type Message struct {
	ID string
	// To is the number, the user id or the group.
	To            string
	RecipientType string
	Type          string
	Text          string
	Buttons       []Button
	// Template is its name, and Text its variable.
	Template string
	Callback string
	ReplyTo  string
}

// Button is a reply button.
type Button struct{ ID, Title string }

// Fault is how the next call of /messages fails.
type Fault = platformtest.HTTPFault

// Platform is the Graph API of one account.
type Platform struct {
	Config
	*httptest.Server
	platformtest.Mailbox[Message]

	mu       sync.Mutex
	webhook  http.Handler
	calls    int
	reads    []string
	typing   []string
	fault    *Fault
	inbound  map[string]string    // message → sender
	wrote    map[string]time.Time // sender → newest
	override string
	apps     int
	nextID   int
}

// New starts one; Close ends it.
func New(c Config) *Platform {
	or := func(s *string, def string) {
		if *s == "" {
			*s = def
		}
	}
	or(&c.PhoneNumberID, "100")
	or(&c.Number, "15550002222")
	or(&c.WABAID, "900")
	or(&c.Token, "EAAtoken")
	or(&c.AppSecret, "app-secret")
	or(&c.VerifyToken, "verify-me")
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Platform{Config: c, inbound: map[string]string{}, wrote: map[string]time.Time{}, apps: 1}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

// Fail makes the next send fail.
func (p *Platform) Fail(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = &f
}

// Calls counts sends that reached it.
func (p *Platform) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Reads are the messages that were marked as read, and Typing those for which
// the sign of typing was asked as well.
func (p *Platform) Reads() (reads, typing []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reads), slices.Clone(p.typing)
}

// Unsubscribe takes all apps off the business account.
func (p *Platform) Unsubscribe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apps = 0
}

func (p *Platform) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+p.Token {
		refuse(w, http.StatusUnauthorized, 190, "Error validating access token")
		return
	}
	switch path := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v23.0"); path {
	case "POST /" + p.PhoneNumberID + "/messages":
		p.calls++
		p.take(w, r)
	case "GET /" + p.PhoneNumberID:
		answer(w, map[string]any{
			"id": p.PhoneNumberID, "display_phone_number": "+" + p.Number, "verified_name": "La Espiga",
			"webhook_configuration": map[string]string{"application": "https://app.example.com/hook"},
		})
	case "GET /" + p.WABAID + "/subscribed_apps":
		data := []map[string]any{}
		for range p.apps {
			data = append(data, map[string]any{"whatsapp_business_api_data": map[string]string{"id": "1"}, "override_callback_uri": p.override})
		}
		answer(w, map[string]any{"data": data})
	case "POST /" + p.WABAID + "/subscribed_apps":
		p.subscribe(w, r)
	case "DELETE /" + p.WABAID + "/subscribed_apps":
		p.apps, p.override = 0, ""
		answer(w, map[string]bool{"success": true})
	default:
		refuse(w, http.StatusBadRequest, 100, "Unsupported request: "+path)
	}
}

func (p *Platform) subscribe(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Override string `json:"override_callback_uri"`
		Verify   string `json:"verify_token"`
	}
	if strict(r.Body, &in) != nil || in.Override == "" || in.Verify == "" {
		refuse(w, http.StatusBadRequest, 100, "override_callback_uri and verify_token are required")
		return
	}
	p.apps, p.override = 1, in.Override
	answer(w, map[string]bool{"success": true})
}

// Override is the registered address.
func (p *Platform) Override() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.override
}

func strict(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": fmt.Sprintf("(#%d) %s", code, message), "type": "OAuthException", "code": code, "fbtrace_id": "A1",
		"error_data": map[string]string{"messaging_product": "whatsapp", "details": message},
	}})
}
