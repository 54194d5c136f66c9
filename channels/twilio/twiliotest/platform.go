package twiliotest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/parley-bot/parley/channels/platformtest"
)

// Config is the account. All fields have defaults.
type Config struct {
	AccountSID string // AC and 32 digits
	Token      string // 12345
	// Senders are the account's own addresses.
	Senders []string // +15550002222, whatsapp:+15550002222
	Content string   // the SID of a quick-reply template
	Public  string   // the address that the webhook is known by
	Name    string   // the channel's name: sms
}

// Message is one that was taken.
type Message struct {
	SID, To, From, Service, Body, Content string
	Variables                             map[string]string
	Callback                              string
}

// Fault is how the next message fails.
type Fault = platformtest.HTTPFault

// Number is a phone number of the account.
type Number struct{ SID, Phone, URL, Method, Application string }

// Platform is the REST API of one account.
type Platform struct {
	Config
	*httptest.Server
	platformtest.Mailbox[Message]

	mu      sync.Mutex
	webhook http.Handler
	calls   int
	fault   *Fault
	status  string
	number  Number
}

// New starts one; Close ends it.
func New(c Config) *Platform {
	or := func(s *string, def string) {
		if *s == "" {
			*s = def
		}
	}
	or(&c.AccountSID, "AC00000000000000000000000000000001")
	or(&c.Token, "12345")
	or(&c.Content, "HX00000000000000000000000000000001")
	or(&c.Public, "https://bot.example.com")
	or(&c.Name, "sms")
	if c.Senders == nil {
		c.Senders = []string{"+15550002222", "whatsapp:+15550002222"}
	}
	p := &Platform{Config: c, status: "active", number: Number{SID: "PN00000000000000000000000000000001", Phone: c.Senders[0]}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

// Fail makes the next message fail.
func (p *Platform) Fail(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = &f
}

// Calls counts messages that reached it.
func (p *Platform) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Number is the account's phone number as it is now; change may be nil.
func (p *Platform) Number(change func(*Number)) Number {
	p.mu.Lock()
	defer p.mu.Unlock()
	if change != nil {
		change(&p.number)
	}
	return p.number
}

// Suspend changes the account's status.
func (p *Platform) Suspend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = "suspended"
}

func (p *Platform) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if user, password, _ := r.BasicAuth(); user != p.AccountSID || password != p.Token {
		refuse(w, http.StatusUnauthorized, 20003, "Authenticate")
		return
	}
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, 20001, "unreadable form")
		return
	}
	account := "/2010-04-01/Accounts/" + p.AccountSID
	switch r.Method + " " + r.URL.Path {
	case "POST " + account + "/Messages.json":
		p.calls++
		p.take(w, r.PostForm)
	case "GET " + account + ".json":
		answer(w, http.StatusOK, map[string]string{"sid": p.AccountSID, "friendly_name": "La Espiga", "status": p.status})
	case "GET " + account + "/IncomingPhoneNumbers.json":
		numbers := []map[string]string{}
		if r.Form.Get("PhoneNumber") == p.number.Phone {
			numbers = append(numbers, p.number.object())
		}
		answer(w, http.StatusOK, map[string]any{"incoming_phone_numbers": numbers, "page_size": 50})
	case "POST " + account + "/IncomingPhoneNumbers/" + p.number.SID + ".json":
		p.number.URL, p.number.Method = r.PostForm.Get("SmsUrl"), r.PostForm.Get("SmsMethod")
		answer(w, http.StatusOK, p.number.object())
	default:
		refuse(w, http.StatusNotFound, 20404, "The requested resource "+r.URL.Path+" was not found")
	}
}

func (n Number) object() map[string]string {
	return map[string]string{"sid": n.SID, "phone_number": n.Phone, "sms_url": n.URL, "sms_method": n.Method, "sms_application_sid": n.Application}
}

// take is POST Messages.json; p.mu is held.
func (p *Platform) take(w http.ResponseWriter, f url.Values) {
	if fault := p.fault; fault != nil {
		p.fault = nil
		fault.Answer(w, refuse)
		return
	}
	m := Message{
		To: f.Get("To"), From: f.Get("From"), Service: f.Get("MessagingServiceSid"), Body: f.Get("Body"),
		Content: f.Get("ContentSid"), Callback: f.Get("StatusCallback"),
	}
	if code, problem := p.check(f, &m); code != 0 {
		refuse(w, http.StatusBadRequest, code, problem)
		return
	}
	m.SID = fmt.Sprintf("SM%032d", len(p.Messages())+1)
	p.Take(m)
	answer(w, http.StatusCreated, map[string]any{
		"sid": m.SID, "status": "queued", "to": m.To, "from": m.From, "body": m.Body, "error_code": nil, "num_segments": "1",
	})
}

// check holds a message to the rules of the reference.
func (p *Platform) check(f url.Values, m *Message) (code int, problem string) {
	for name, values := range f {
		if !slices.Contains([]string{"To", "From", "MessagingServiceSid", "Body", "StatusCallback", "ContentSid", "ContentVariables"}, name) || len(values) != 1 {
			return 21600, "parameter " + name + " isn't one that the adapter needs"
		}
	}
	callback, err := url.Parse(m.Callback)
	bare := strings.TrimPrefix(m.To, "whatsapp:")
	switch {
	case !strings.HasPrefix(bare, "+") || len(bare) < 6 || strings.Trim(bare[1:], "0123456789") != "":
		return 21211, "The 'To' number " + m.To + " is not a valid phone number."
	case m.From == "" && m.Service == "":
		return 21603, "A 'From' phone number is required."
	case m.From != "" && !slices.Contains(p.Senders, m.From):
		return 21606, "The From phone number " + m.From + " is not a valid, SMS-capable inbound phone number."
	case m.From != "" && strings.HasPrefix(m.From, "whatsapp:") != strings.HasPrefix(m.To, "whatsapp:"):
		return 63007, "Twilio could not find a Channel with the specified From address"
	case m.Body == "" && m.Content == "":
		return 21602, "Message body is required."
	case len(utf16.Encode([]rune(m.Body))) > 1600:
		return 21617, "The concatenated message body exceeds the 1600 character limit"
	case err != nil || m.Callback != "" && callback.Hostname() == "":
		return 21609, "The 'StatusCallback' URL is not a valid URL."
	case m.Content != "" && (m.Content != p.Content || m.Body != "" || !strings.HasPrefix(m.To, "whatsapp:")):
		return 21655, "The ContentSid is invalid"
	case m.Content != "" && json.Unmarshal([]byte(f.Get("ContentVariables")), &m.Variables) != nil:
		return 21656, "The ContentVariables parameter is invalid"
	}
	return 0, ""
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	answer(w, status, map[string]any{
		"code": code, "message": message, "more_info": fmt.Sprintf("https://www.twilio.com/docs/errors/%d", code), "status": status,
	})
}
