package platforms

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/webchat"
)

// visitors are the people of the web chat; there is no platform behind it.
type visitors struct {
	t       *testing.T
	adapter *webchat.Adapter
	last    atomic.Int64

	mu     sync.Mutex
	base   string
	tokens map[person]string
}

func newWebchat(t *testing.T) *visitors {
	t.Helper()
	a, err := webchat.New(webchat.Config{}, webchat.Deps{Host: channeltest.NewHost(), Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	return &visitors{t: t, adapter: a, tokens: map[person]string{stranger: "no-session-has-this-token"}}
}

// yaml has no allow: a visitor is known by a token that nobody else has.
func (v *visitors) yaml(...person) string { return "web: {kind: webchat}" }

func (v *visitors) connect(base string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.base = base
}

// do makes a request; out, where not nil, gets the answer's body.
func (v *visitors) do(method, path, token string, in, out any) int {
	body, err := json.Marshal(in)
	if err != nil {
		v.t.Error(err)
		return 0
	}
	v.mu.Lock()
	base := v.base
	v.mu.Unlock()
	req, err := http.NewRequestWithContext(context.WithoutCancel(v.t.Context()), method, base+"/chat/api/"+path, bytes.NewReader(body))
	if err != nil {
		v.t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0 // the bot is away
	}
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			return 0
		}
	}
	return resp.StatusCode
}

func (v *visitors) token(who person) string {
	v.mu.Lock()
	token := v.tokens[who]
	v.mu.Unlock()
	if token != "" {
		return token
	}
	var s struct{ Token string }
	if !until(v.t.Context(), func() bool {
		return v.do(http.MethodPost, "sessions", "", map[string]string{"lang": "en"}, &s) == http.StatusCreated
	}) {
		v.t.Errorf("no session could be begun")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tokens[who] = s.Token
	return s.Token
}

func (v *visitors) say(who person, text string) (again func()) {
	token, id := v.token(who), fmt.Sprint("client-", v.last.Add(1))
	want := http.StatusAccepted
	if who == stranger {
		want = http.StatusUnauthorized
	}
	send := func() {
		code := 0
		if !until(v.t.Context(), func() bool {
			code = v.do(http.MethodPost, "messages", token, map[string]string{"text": text, "client_id": id}, nil)
			return code == want
		}) {
			v.t.Errorf("saying %q: status %d, want %d", text, code, want)
		}
	}
	send()
	return send
}

func (v *visitors) press(who person, _ message, b button) {
	if !until(v.t.Context(), func() bool {
		return v.do(http.MethodPost, "press", v.token(who), map[string]string{"button": b.id}, nil) == http.StatusOK
	}) {
		v.t.Errorf("a press was never taken")
	}
}

func (v *visitors) shown(who person) (out []message) {
	for after := int64(0); ; {
		var list struct {
			Events []struct {
				Event string
				ID    int64
				Data  struct {
					ID, From, Text string
					Buttons        []struct{ ID, Label string }
				}
			}
		}
		if v.do(http.MethodGet, fmt.Sprint("messages?after=", after), v.token(who), nil, &list) != http.StatusOK || len(list.Events) == 0 {
			return out
		}
		for _, e := range list.Events {
			after = e.ID
			m := message{id: e.Data.ID, text: e.Data.Text}
			for _, b := range e.Data.Buttons {
				m.buttons = append(m.buttons, button{b.ID, b.Label})
			}
			switch {
			case e.Event == "edit":
				for i := range out {
					if out[i].id == m.id {
						out[i] = m
					}
				}
			case e.Data.From == "bot":
				out = append(out, m)
			}
		}
	}
}

func (v *visitors) caps() channels.Capabilities {
	return v.adapter.Capabilities(channels.Chat{ID: "1"})
}
func (v *visitors) calls() []call   { return nil }
func (v *visitors) wrong() []string { return nil }
