package webchat

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"sync"

	"github.com/parley-bot/parley/channels"
)

// handler serves everything below the prefix.
func (a *Adapter) handler(sink channels.Sink) http.Handler {
	api := http.NewServeMux()
	p := a.cfg.Prefix + "api/"
	api.Handle(p+"sessions", methods{http.MethodPost: a.postSession})
	api.Handle(p+"messages", methods{
		http.MethodGet:  a.visitor(a.getMessages),
		http.MethodPost: a.visitor(func(w http.ResponseWriter, r *http.Request, s session) { a.postMessage(w, r, s, sink) }),
	})
	api.Handle(p+"press", methods{
		http.MethodPost: a.visitor(func(w http.ResponseWriter, r *http.Request, s session) { a.postPress(w, r, s, sink) }),
	})
	api.Handle(p+"events", methods{http.MethodGet: a.visitor(a.getEvents)})
	api.HandleFunc(p, func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, "not_found", "there is nothing here")
	})

	all := http.NewServeMux()
	all.Handle(p, a.cors(api))
	all.Handle(a.cfg.Prefix, methods{http.MethodGet: a.page.serve})
	return a.shield(all)
}

// visitor finds the session, and demands JSON of a request that a form of
// another site could send with the cookie.
func (a *Adapter) visitor(next func(http.ResponseWriter, *http.Request, session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := a.find(r)
		if err != nil {
			a.unauthorized(w, r, err)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("Authorization") == "" && !isJSON(r) {
			fail(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "the body has to be application/json")
			return
		}
		next(w, r, s)
	}
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// postSession begins a session. With "cookie": true the token is set as a
// cookie too, which only the chat's own page may ask for.
func (a *Adapter) postSession(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Lang   string `json:"lang"`
		Cookie bool   `json:"cookie"`
	}
	if !a.decode(w, r, &in) {
		return
	}
	if in.Cookie && (!fromOwnPage(r) || !isJSON(r)) {
		a.unauthorized(w, r, errCrossSite)
		return
	}
	if wait := a.limiter.take(r); wait > 0 {
		failAfter(w, http.StatusTooManyRequests, wait, "too_many_sessions", "too many sessions were begun from this address")
		return
	}
	s, token, err := a.begin(r.Context(), in.Lang)
	if err != nil {
		a.log.ErrorContext(r.Context(), "session not begun", "err", err)
		failAfter(w, http.StatusServiceUnavailable, unavailableAfter, "unavailable", "the chat isn't available now")
		return
	}
	if in.Cookie {
		a.setCookie(w, r, token)
	}
	answer(w, http.StatusCreated, map[string]string{"session": string(s.ID), "token": token})
}

// maxClientID bounds the id that a client gives a message.
const maxClientID = 256

func (a *Adapter) postMessage(w http.ResponseWriter, r *http.Request, s session, sink channels.Sink) {
	var in struct {
		Text     string `json:"text"`
		ClientID string `json:"client_id"`
	}
	if !a.decode(w, r, &in) {
		return
	}
	if len(in.Text) > a.cfg.MaxText {
		fail(w, http.StatusRequestEntityTooLarge, "too_large", "the text is too long")
		return
	}
	if len(in.ClientID) > maxClientID {
		fail(w, http.StatusUnprocessableEntity, "invalid", "the client_id is too long")
		return
	}
	id := newMessageID()
	if in.ClientID != "" {
		id = derivedID("c", string(s.ID), in.ClientID)
	}
	err := sink.Accept(r.Context(), channels.Inbound{
		Kind: channels.KindMessage, ID: id, Chat: s.chat(), From: s.user(), Text: in.Text, Mentioned: true,
	})
	if err != nil {
		a.refused(w, r, err)
		return
	}
	answer(w, http.StatusAccepted, map[string]string{"id": string(id)})
}

// press is the Handle of a press: where Ack puts the outcome.
type press struct {
	mu  sync.Mutex
	ack channels.PressAck
}

func (p *press) set(ack channels.PressAck) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ack.Outcome != "" {
		return errors.New("acknowledging a press: it was acknowledged before")
	}
	p.ack = ack
	return nil
}

func (p *press) get() channels.PressAck {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ack
}

// pressAnswer is the outcome, and a text for the visitor where there is one.
type pressAnswer struct {
	Outcome channels.PressOutcome `json:"outcome"`
	Notice  string                `json:"notice,omitempty"`
}

// postPress answers with the outcome that Ack brought while Accept ran. A
// press that was still undecided when it was acknowledged has been taken all
// the same: it is told as accepted, and the edit that follows on the stream
// tells what became of it. One that nobody acknowledged changed nothing, so it
// is stale.
func (a *Adapter) postPress(w http.ResponseWriter, r *http.Request, s session, sink channels.Sink) {
	var in struct {
		Button string `json:"button"`
	}
	if !a.decode(w, r, &in) {
		return
	}
	if !validButton(in.Button) {
		fail(w, http.StatusUnprocessableEntity, "invalid", "button is missing or no id")
		return
	}
	p := &press{}
	err := sink.Accept(r.Context(), channels.Inbound{
		Kind: channels.KindPress, ID: newMessageID(), Chat: s.chat(), From: s.user(),
		Button: channels.ButtonID(in.Button), Mentioned: true, Handle: p,
	})
	if err != nil {
		a.refused(w, r, err)
		return
	}
	ack := p.get()
	out := pressAnswer{Outcome: cmp.Or(ack.Outcome, channels.PressStale), Notice: ack.Notice}
	if out.Outcome == channels.PressPending {
		out.Outcome = channels.PressAccepted
	}
	answer(w, http.StatusOK, out)
}

// validButton tells whether id can be one of ours.
func validButton(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
