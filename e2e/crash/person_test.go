//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// person is a visitor of the web chat who isn't put off: whatever wasn't
// answered is sent again, with the same client_id, to whichever process is
// there by then.
type person struct {
	t      *testing.T
	ctx    context.Context
	base   func(context.Context) (string, error)
	client *http.Client
	name   string // of the session, for messages of the test
	chat   string // its chat key
	token  string
	look   func() time.Duration // how often they look for something new

	mu     sync.Mutex // of what follows: some things are done twice at once
	nextID int
	wrote  []string // accepted texts, in order
	events []event
	after  int64 // number of the last event
	heard  int   // bot's messages that were waited for
	edits  int
}

// event is what GET /chat/api/messages lists.
type event struct {
	Event string `json:"event"`
	ID    int64  `json:"id"`
	Data  struct {
		ID      string   `json:"id"`
		From    string   `json:"from"`
		Text    string   `json:"text"`
		Buttons []button `json:"buttons"`
	} `json:"data"`
}

type button struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Value string `json:"value"`
}

// glance is how often people look who do nothing else.
const glance = 3 * time.Millisecond

// newPerson begins a session. Whatever they do ends with ctx.
func newPerson(ctx context.Context, t *testing.T, client *http.Client, base func(context.Context) (string, error)) (*person, error) {
	p := &person{t: t, ctx: ctx, base: base, client: client, look: func() time.Duration { return glance }}
	var out struct{ Session, Token string }
	if err := p.insist("POST", "sessions", map[string]string{"lang": "en"}, http.StatusCreated, &out); err != nil {
		return nil, err
	}
	p.name, p.chat, p.token = out.Session, "web:"+out.Session, out.Token
	return p, nil
}

var errRefused = errors.New("refused")

// insist asks until it gets an answer; one that isn't want is an error, unless
// it says to come again.
func (p *person) insist(method, path string, body any, want int, out any) error {
	for {
		status, err := p.ask(method, path, body, want, out)
		switch {
		case err == nil:
			return nil
		case status != 0 && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return err
		case !pause(p.ctx, 5*time.Millisecond):
			return fmt.Errorf("%s %s: %w (last: %w)", method, path, context.Cause(p.ctx), err)
		}
	}
}

// ask makes one request. Status 0: there was no answer.
func (p *person) ask(method, path string, body any, want int, out any) (status int, err error) {
	base, err := p.base(p.ctx)
	if err != nil {
		return 0, err
	}
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(p.ctx, method, base+"/chat/api/"+path, reader)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err // cut off: as good as no answer
	}
	if resp.StatusCode != want {
		return resp.StatusCode, fmt.Errorf("%s %s: %w: status %d, want %d: %s", method, path, errRefused, resp.StatusCode, want, raw)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return resp.StatusCode, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return resp.StatusCode, nil
}

// say sends a text until it is taken.
func (p *person) say(text string) error {
	_, err := p.send(p.id(), text)
	if err == nil {
		p.mu.Lock()
		p.wrote = append(p.wrote, text)
		p.mu.Unlock()
	}
	return err
}

// sayTwice is a client that sends a message again without waiting.
func (p *person) sayTwice(text string) error {
	id := p.id()
	ids, errs := [2]string{}, [2]error{}
	var both sync.WaitGroup
	for i := range ids {
		both.Go(func() { ids[i], errs[i] = p.send(id, text) })
	}
	both.Wait()
	p.wrote = append(p.wrote, text)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if ids[0] != ids[1] {
		return fmt.Errorf("one client_id gave two messages: %v", ids)
	}
	return nil
}

func (p *person) id() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nextID++
	return strconv.Itoa(p.nextID)
}

func (p *person) send(id, text string) (string, error) {
	var out struct{ ID string }
	err := p.insist("POST", "messages", map[string]string{"text": text, "client_id": id}, http.StatusAccepted, &out)
	return out.ID, err
}

// press presses a button until the press is answered.
func (p *person) press(id string) (outcome string, err error) {
	var out struct{ Outcome string }
	err = p.insist("POST", "press", map[string]string{"button": id}, http.StatusOK, &out)
	return out.Outcome, err
}

// hear waits for the bot's next message.
func (p *person) hear() (event, error) {
	n := 0
	e, err := p.wait(func(e event) bool {
		if e.Event != "message" || e.Data.From != "bot" {
			return false
		}
		n++
		return n > p.heard
	})
	if err != nil {
		return e, fmt.Errorf("waiting for message %d of the bot: %w", p.heard+1, err)
	}
	p.heard++
	return e, nil
}

// closed waits until the question's buttons are taken away and returns what it
// reads then.
func (p *person) closed(q event) (string, error) {
	e, err := p.wait(func(e event) bool { return e.Event == "edit" && e.Data.ID == q.Data.ID })
	if err != nil {
		return "", fmt.Errorf("waiting for the end of the question %q: %w", q.Data.Text, err)
	}
	p.edits++
	return e.Data.Text, nil
}

// wait looks at all events, from the first, until one is the right one.
func (p *person) wait(right func(event) bool) (event, error) {
	seen := 0
	for {
		for ; seen < len(p.events); seen++ {
			if right(p.events[seen]) {
				return p.events[seen], nil
			}
		}
		if err := p.read(); err != nil {
			return event{}, err
		}
		if seen < len(p.events) {
			continue
		}
		if !pause(p.ctx, p.look()) {
			return event{}, context.Cause(p.ctx)
		}
	}
}

// read takes new events in. Their numbers leave no gap (and what was read
// before a crash isn't told anew after it).
func (p *person) read() error {
	var out struct{ Events []event }
	if err := p.insist("GET", fmt.Sprint("messages?after=", p.after), nil, http.StatusOK, &out); err != nil {
		return err
	}
	for _, e := range out.Events {
		if e.ID != p.after+1 {
			return fmt.Errorf("event %d follows event %d", e.ID, p.after)
		}
		p.after = e.ID
		p.events = append(p.events, e)
	}
	return nil
}
