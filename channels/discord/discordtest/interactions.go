package discordtest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// interaction is a press or a command that waits for an answer.
type interaction struct {
	id, token string
	kind      int // 2 command, 3 press
	user      User
	channel   string
	message   *Message
	born      time.Time
	answered  int // the type of the answer, 0 before
	original  string
	body      map[string]any
}

const (
	// ackTime is how long an interaction waits for its answer, and tokenLife
	// how long its token is good.
	ackTime   = 3 * time.Second
	tokenLife = 15 * time.Minute

	ephemeral = 1 << 6
)

func (s *Server) interact(u User, channel string, kind int, on *Message, data map[string]any) *interaction {
	c := s.must(channel)
	i := &interaction{id: s.id(), token: "itoken-" + s.id(), kind: kind, user: u, channel: channel, message: on, born: s.opts.Now()}
	i.body = map[string]any{
		"id": i.id, "application_id": AppID, "type": kind, "token": i.token, "version": 1, "channel_id": channel, "channel": c.json(),
		"locale": u.Locale, "data": data, "app_permissions": "0", "entitlements": []any{}, "context": 1,
		"authorizing_integration_owners": map[string]any{"0": "0"}, "attachment_size_limit": 10485760,
	}
	if c.guild != "" {
		i.body["guild_id"], i.body["member"], i.body["context"] = c.guild, u.member(), 0
		i.body["guild_locale"] = "en-US"
	} else {
		i.body["user"] = u.json()
	}
	if on != nil {
		i.body["message"] = on.json(false)
	}
	s.interactions[i.token] = i
	return i
}

// Press presses a button; it returns the interaction's id. Without an
// interactions endpoint the gateway delivers it.
func (s *Server) Press(u User, channel, message, customID string) string {
	s.mu.Lock()
	m := s.must(channel).find(message)
	if m == nil {
		m = &Message{ID: message, Channel: channel, Author: BotID}
	}
	i := s.interact(u, channel, 3, m, map[string]any{"component_type": 2, "custom_id": customID, "id": 1})
	return s.deliver(i)
}

// Command uses a slash command; options are its texts by name.
func (s *Server) Command(u User, channel, name string, options ...string) string {
	s.mu.Lock()
	opts := []any{}
	for n := 0; n+1 < len(options); n += 2 {
		opts = append(opts, map[string]any{"type": 3, "name": options[n], "value": options[n+1]})
	}
	i := s.interact(u, channel, 2, nil, map[string]any{"id": s.id(), "type": 1, "name": name, "options": opts})
	return s.deliver(i)
}

// deliver sends an interaction; s.mu is held, and released.
func (s *Server) deliver(i *interaction) string {
	defer s.mu.Unlock()
	if s.endpoint != "" {
		url := s.endpoint
		s.work.Go(func() { s.post(url, i) })
		return i.id
	}
	s.emit(s.must(i.channel), "INTERACTION_CREATE", i)
	s.Signal()
	return i.id
}

// Repeat delivers an interaction by the gateway once more.
func (s *Server) Repeat(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.id == id {
			s.emit(s.must(i.channel), "INTERACTION_CREATE", i)
		}
	}
}

// post delivers to the endpoint; what it answers is the answer.
func (s *Server) post(url string, i *interaction) {
	raw, err := json.Marshal(i.body)
	if err != nil {
		panic(err)
	}
	code, text, err := s.PostTo(s.ctx, url, raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.Signal()
	switch {
	case err != nil || code < 200 || code >= 300:
		return // the person sees that it failed
	case code == http.StatusAccepted && len(text) == 0:
		return // it is answered by a call
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		s.reportf("the endpoint answered %d %q", code, text)
		return
	}
	if e := s.respond(i, body); e != nil {
		s.reportf("the endpoint's answer to %s: %s", i.id, e.message)
	}
}

// PostTo posts a signed body to an interactions endpoint, as Discord does.
func (s *Server) PostTo(ctx context.Context, url string, raw []byte) (code int, answer []byte, err error) {
	at := strconv.FormatInt(s.opts.Now().Unix(), 10)
	sig := ed25519.Sign(s.key, append([]byte(at), raw...))
	return s.postSigned(ctx, url, raw, at, hex.EncodeToString(sig))
}

func (s *Server) postSigned(ctx context.Context, url string, raw []byte, at, sig string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Signature-Timestamp", at)
	req.Header.Set("X-Signature-Ed25519", sig)
	req.Header.Set("User-Agent", "Discord-Interactions/1.0 (+https://discord.com)")
	resp, err := s.out.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, text, err
}

// UseEndpoint sets the interactions endpoint without asking it.
func (s *Server) UseEndpoint(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoint = url
}

// setEndpoint is PATCH /applications/@me: Discord asks the endpoint at once,
// also with a signature that is wrong.
func (c *call) setEndpoint() (any, *apiError) {
	v, ok := c.body["interactions_endpoint_url"]
	if !ok {
		return c.app(), nil
	}
	url, _ := v.(string)
	if url != "" {
		refused := form("interactions_endpoint_url: The specified interactions endpoint url could not be verified.")
		ping := fmt.Appendf(nil, `{"id":"1","application_id":%q,"type":1,"token":"ping","version":1}`, AppID)
		code, text, err := c.PostTo(c.ctx, url, ping)
		var pong struct {
			Type int `json:"type"`
		}
		if err != nil || code != http.StatusOK || json.Unmarshal(text, &pong) != nil || pong.Type != 1 {
			return nil, refused
		}
		at := strconv.FormatInt(c.opts.Now().Unix(), 10)
		code, _, err = c.postSigned(c.ctx, url, ping, at, hex.EncodeToString(bytes.Repeat([]byte{7}, ed25519.SignatureSize)))
		if err != nil || code != http.StatusUnauthorized {
			return nil, refused
		}
	}
	c.UseEndpoint(url)
	return c.app(), nil
}

// callback answers an interaction by a call.
func (c *call) callback(id, token string) *apiError {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.interactions[token]
	if i == nil || i.id != id {
		return unknown(10062, "interaction")
	}
	return c.respond(i, c.body)
}

// respond checks an answer and carries it out; s.mu is held.
func (s *Server) respond(i *interaction, body map[string]any) *apiError {
	switch {
	case i.answered != 0:
		return &apiError{status: http.StatusBadRequest, code: 40060, message: "Interaction has already been acknowledged."}
	case s.since(i.born) > ackTime:
		return unknown(10062, "interaction")
	}
	kind, err := strconv.Atoi(fmt.Sprint(body["type"]))
	if err != nil || kind != 4 && kind != 5 && (i.kind != 3 || kind != 6 && kind != 7) {
		return form("type: Value must be one of the known ones.")
	}
	data, _ := body["data"].(map[string]any)
	for k := range data {
		switch k {
		case "tts", "content", "embeds", "allowed_mentions", "flags", "components", "attachments", "poll":
		default:
			s.reportf("answer to an interaction: there is no field data.%s", k)
		}
	}
	said, e := read(data)
	if e != nil {
		return e
	}
	i.answered = kind
	if kind == 4 {
		if said.text == "" {
			return &apiError{status: http.StatusBadRequest, code: 50006, message: "Cannot send an empty message"}
		}
		s.show(i, said)
	}
	s.Signal()
	return nil
}

// show shows what an interaction was answered with, to the person alone where
// it is ephemeral.
func (s *Server) show(i *interaction, said content) *Message {
	c := s.must(i.channel)
	m := &Message{ID: s.id(), Channel: c.id, guild: c.guild, Author: BotID, Content: said.text, Buttons: said.buttons, Flags: said.flags, Pings: said.pings()}
	if said.flags&ephemeral != 0 {
		s.notices[i.user.ID] = append(s.notices[i.user.ID], said.text)
	} else {
		c.messages = append(c.messages, m)
		s.emit(c, "MESSAGE_CREATE", m)
	}
	return m
}

// live finds an interaction whose token can be used; s.mu is held.
func (s *Server) live(app, token string) (*interaction, *apiError) {
	i := s.interactions[token]
	switch {
	case i == nil || app != AppID || i.answered == 0:
		return nil, unknown(10015, "Webhook")
	case s.since(i.born) > tokenLife:
		return nil, &apiError{status: http.StatusUnauthorized, code: 50027, message: "Invalid Webhook Token"}
	}
	return i, nil
}

func (c *call) followup(app, token string) (any, *apiError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, e := c.live(app, token)
	if e != nil {
		return nil, e
	}
	said, e := read(c.body)
	if e != nil {
		return nil, e
	}
	if said.text == "" {
		return nil, &apiError{status: http.StatusBadRequest, code: 50006, message: "Cannot send an empty message"}
	}
	m := c.show(i, said)
	c.Signal()
	return m.json(false), nil
}

// original edits or deletes the first answer.
func (c *call) original(app, token string, remove bool) (any, *apiError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, e := c.live(app, token)
	if e != nil {
		return nil, e
	}
	if i.answered != 4 && i.answered != 5 {
		return nil, unknown(10008, "Message")
	}
	if remove {
		i.original = "deleted"
		c.Signal()
		return nil, nil //nolint:nilnil // an answer without a body
	}
	said, e := read(c.body)
	if e != nil {
		return nil, e
	}
	i.original = said.text
	c.Signal()
	return (&Message{ID: c.id(), Channel: i.channel, Author: BotID, Content: said.text, Flags: ephemeral}).json(false), nil
}

// Notices are the messages that only this person was shown.
func (s *Server) Notices(user string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notices[user]...)
}

// Answered is the type of an interaction's answer, 0 before it has one; of
// one that was deferred also what became of the deferred message.
func (s *Server) Answered(id string) (kind int, original string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.id == id {
			return i.answered, i.original
		}
	}
	return 0, ""
}

// Body is an interaction as it is posted to an endpoint.
func (s *Server) Body(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.id == id {
			raw, err := json.Marshal(i.body)
			if err != nil {
				panic(err)
			}
			return raw
		}
	}
	return nil
}
