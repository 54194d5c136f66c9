package discordtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// channel is a text channel, a thread or a direct conversation.
type channel struct {
	id       string
	guild    string // "" is a direct conversation
	parent   string // of a thread
	user     User   // of a direct conversation
	messages []*Message
	nonces   map[string]nonce
	sent     []time.Time
	refusal  *apiError
}

type nonce struct {
	message *Message
	at      time.Time
}

// nonceLife is "a few minutes", as long as nonces are compared.
const nonceLife = 5 * time.Minute

// Message is one message, as it is shown now.
type Message struct {
	ID, Channel string
	// Author is BotID for the bot's.
	Author  string
	Content string
	Buttons []Button
	ReplyTo string
	Nonce   string
	// Edits counts, and Edited is the last one's stamp.
	Edits  int
	Edited string
	Flags  int64
	// Pings is true where somebody would be notified by the content.
	Pings bool

	user   User
	guild  string
	extra  map[string]any
	answer *Message
}

// Button is one below a message.
type Button struct{ ID, Label string }

// json is the message as the API and the gateway tell it; hidden is without
// what the message content intent is for.
func (m *Message) json(hidden bool) map[string]any {
	out := map[string]any{
		"id": m.ID, "channel_id": m.Channel, "content": m.Content, "timestamp": stamp(m.ID), "edited_timestamp": nil,
		"tts": false, "mention_everyone": false, "mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "embeds": []any{},
		"components": m.components(), "pinned": false, "type": 0, "flags": m.Flags,
	}
	if m.Author == BotID {
		out["author"] = me()
	} else {
		out["author"] = m.user.json()
	}
	if m.Edited != "" {
		out["edited_timestamp"] = m.Edited
	}
	if m.ReplyTo != "" {
		out["type"] = 19
		out["message_reference"] = map[string]any{"message_id": m.ReplyTo, "channel_id": m.Channel, "guild_id": m.guild}
		out["referenced_message"] = nil
		if m.answer != nil {
			out["referenced_message"] = m.answer.json(false)
		}
	}
	if m.Nonce != "" {
		out["nonce"] = m.Nonce
	}
	mentioned := false
	for _, form := range []string{"<@" + BotID + ">", "<@!" + BotID + ">"} {
		mentioned = mentioned || strings.Contains(m.Content, form)
	}
	if mentioned {
		out["mentions"] = []any{me()}
	}
	if strings.Contains(m.Content, "<@&"+RoleID+">") {
		out["mention_roles"] = []any{RoleID}
	}
	maps.Copy(out, m.extra)
	if hidden && !mentioned && m.Author != BotID {
		out["content"], out["embeds"], out["attachments"], out["components"] = "", []any{}, []any{}, []any{}
	}
	return out
}

func (m *Message) components() []any {
	var row []any
	for _, b := range m.Buttons {
		row = append(row, map[string]any{"type": 2, "style": 1, "label": b.Label, "custom_id": b.ID})
	}
	rows := []any{}
	for r := range slices.Chunk(row, 5) {
		rows = append(rows, map[string]any{"type": 1, "components": r})
	}
	return rows
}

func stamp(id string) string {
	n, _ := strconv.ParseUint(id, 10, 64)
	return time.UnixMilli(int64(n>>22) + epoch).UTC().Format("2006-01-02T15:04:05.000000+00:00")
}

// content is what a body says, checked.
type content struct {
	text     string
	buttons  []Button
	flags    int64
	mentions map[string]any // nil where the default holds
}

// read checks what messages of all kinds have in common.
func read(body map[string]any) (out content, e *apiError) {
	raw, err := json.Marshal(body)
	if err != nil {
		return out, form("%v", err)
	}
	var b struct {
		Content    *string `json:"content"`
		Flags      int64   `json:"flags"`
		Components []struct {
			Type       int `json:"type"`
			Components []struct {
				Type     int    `json:"type"`
				Style    int    `json:"style"`
				Label    string `json:"label"`
				CustomID string `json:"custom_id"`
				URL      string `json:"url"`
			} `json:"components"`
		} `json:"components"`
		Mentions map[string]any `json:"allowed_mentions"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return out, form("%v", err)
	}
	if b.Content != nil {
		out.text = strings.TrimSpace(*b.Content)
	}
	if n := utf8.RuneCountInString(out.text); n > 2000 {
		return out, form("content: Must be 2000 or fewer in length. (%d)", n)
	}
	if len(b.Components) > 5 {
		return out, form("components: Must be 5 or fewer in length.")
	}
	seen := map[string]bool{}
	for _, row := range b.Components {
		if row.Type != 1 || len(row.Components) < 1 || len(row.Components) > 5 {
			return out, form("components: Must be between 1 and 5 in length.")
		}
		for _, c := range row.Components {
			switch {
			case c.Type != 2 || c.Style < 1 || c.Style > 4:
				return out, form("components: type %d, style %d: Value of field must be one of the known ones.", c.Type, c.Style)
			case utf8.RuneCountInString(c.Label) > 80 || c.Label == "":
				return out, form("label: Must be between 1 and 80 in length.")
			case utf8.RuneCountInString(c.CustomID) > 100 || c.CustomID == "":
				return out, form("custom_id: Must be between 1 and 100 in length.")
			case c.URL != "":
				return out, form("url: A custom id and url cannot both be specified")
			case seen[c.CustomID]:
				return out, form("custom_id: Component custom id cannot be duplicated")
			}
			seen[c.CustomID] = true
			out.buttons = append(out.buttons, Button{c.CustomID, c.Label})
		}
	}
	if m := b.Mentions; m != nil {
		parse, ok := m["parse"].([]any)
		for _, p := range parse {
			ok = ok && slices.Contains([]any{"roles", "users", "everyone"}, p)
		}
		if !ok && m["parse"] != nil {
			return out, form("allowed_mentions.parse: Value must be one of ('roles', 'users', 'everyone').")
		}
	}
	out.flags, out.mentions = b.Flags, b.Mentions
	return out, nil
}

// pings tells whether the content would notify somebody.
func (c content) pings() bool {
	names := strings.Contains(c.text, "@everyone") || strings.Contains(c.text, "@here") || strings.Contains(c.text, "<@")
	parse, _ := c.mentions["parse"].([]any)
	users, _ := c.mentions["users"].([]any)
	return names && (c.mentions == nil || len(parse)+len(users) > 0)
}

// at finds a channel; s.mu is held.
func (s *Server) at(id string) (*channel, *apiError) {
	c := s.channels[id]
	if c == nil {
		return nil, unknown(10003, "Channel")
	}
	if c.refusal != nil {
		return nil, c.refusal
	}
	return c, nil
}

func (c *channel) find(id string) *Message {
	for _, m := range c.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (c *call) create(id string) (any, *apiError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, e := c.at(id)
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
	key, _ := c.body["nonce"].(string)
	if utf8.RuneCountInString(key) > 25 {
		return nil, form("nonce: Must be 25 or fewer in length.")
	}
	now := c.opts.Now()
	if had, ok := ch.nonces[key]; ok && key != "" && c.body["enforce_nonce"] == true && now.Sub(had.at) < nonceLife {
		return had.message.json(false), nil
	}
	if c.opts.Rate {
		ch.sent = slices.DeleteFunc(ch.sent, func(at time.Time) bool { return now.Sub(at) >= 5*time.Second })
		if len(ch.sent) >= 5 {
			after := 5*time.Second - now.Sub(ch.sent[0])
			return nil, &apiError{status: http.StatusTooManyRequests, message: "You are being rate limited.", retryAfter: after.Seconds()}
		}
		ch.sent = append(ch.sent, now)
	}
	m := &Message{Author: BotID, Channel: id, guild: ch.guild, Content: said.text, Buttons: said.buttons, Flags: said.flags, Nonce: key, Pings: said.pings()}
	if ref, ok := c.body["message_reference"].(map[string]any); ok {
		to, _ := ref["message_id"].(string)
		m.answer = ch.find(to)
		switch {
		case m.answer != nil:
			m.ReplyTo = to
		case ref["fail_if_not_exists"] != false:
			return nil, form("message_reference: Unknown message")
		}
	}
	m.ID = c.id()
	ch.messages = append(ch.messages, m)
	if key != "" {
		ch.nonces[key] = nonce{m, now}
	}
	c.emit(ch, "MESSAGE_CREATE", m)
	c.Signal()
	return m.json(false), nil
}

func (c *call) edit(id, message string) (any, *apiError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, e := c.at(id)
	if e != nil {
		return nil, e
	}
	m := ch.find(message)
	switch {
	case m == nil:
		return nil, unknown(10008, "Message")
	case m.Author != BotID:
		return nil, &apiError{status: http.StatusForbidden, code: 50005, message: "Cannot edit a message authored by another user"}
	}
	said, e := read(c.body)
	if e != nil {
		return nil, e
	}
	if _, ok := c.body["content"]; ok {
		if said.text == "" {
			return nil, &apiError{status: http.StatusBadRequest, code: 50006, message: "Cannot send an empty message"}
		}
		m.Content, m.Pings = said.text, said.pings()
	}
	if _, ok := c.body["components"]; ok {
		m.Buttons = said.buttons
	}
	if _, ok := c.body["flags"]; ok {
		m.Flags = said.flags
	}
	m.Edits++
	m.Edited = c.opts.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	c.emit(ch, "MESSAGE_UPDATE", m)
	c.Signal()
	return m.json(false), nil
}

// history is newest first.
func (c *call) history(id string) (any, *apiError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, e := c.at(id)
	if e != nil {
		return nil, e
	}
	limit := 50
	if l := c.query("limit"); l != "" {
		n, err := strconv.Atoi(l)
		if err != nil || n < 1 || n > 100 {
			return nil, form("limit: int value should be between 1 and 100.")
		}
		limit = n
	}
	after, before := snowflake(c.query("after")), snowflake(c.query("before"))
	out := []any{}
	var fits []*Message
	for _, m := range ch.messages {
		if n := snowflake(m.ID); n > after && (before == 0 || n < before) {
			fits = append(fits, m)
		}
	}
	switch {
	case len(fits) > limit && after > 0:
		fits = fits[:limit] // those right after
	case len(fits) > limit:
		fits = fits[len(fits)-limit:]
	}
	for _, m := range slices.Backward(fits) {
		out = append(out, m.json(c.opts.NoContent && ch.guild != ""))
	}
	return out, nil
}

func snowflake(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

func (c *call) getChannel(id string) (any, *apiError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, e := c.at(id)
	if e != nil {
		return nil, e
	}
	return ch.json(), nil
}

func (c *channel) json() map[string]any {
	var last any
	if n := len(c.messages); n > 0 {
		last = c.messages[n-1].ID
	}
	switch {
	case c.guild == "":
		return map[string]any{"id": c.id, "type": 1, "last_message_id": last, "recipients": []any{c.user.json()}}
	case c.parent != "":
		return map[string]any{
			"id": c.id, "type": 11, "guild_id": c.guild, "parent_id": c.parent, "name": "thread-" + c.id, "last_message_id": last, "owner_id": BotID,
			"thread_metadata": map[string]any{"archived": false, "auto_archive_duration": 1440, "archive_timestamp": stamp(c.id), "locked": false},
			"message_count":   len(c.messages), "member_count": 1,
		}
	}
	return map[string]any{
		"id": c.id, "type": 0, "guild_id": c.guild, "name": "channel-" + c.id, "position": 0, "permission_overwrites": []any{},
		"nsfw": false, "topic": nil, "parent_id": nil, "last_message_id": last, "rate_limit_per_user": 0,
	}
}

func (c *call) sign(id string) *apiError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, e := c.at(id); e != nil {
		return e
	}
	c.typing = append(c.typing, id)
	c.Signal()
	return nil
}

// setCommands checks what Discord checks of commands.
func (c *call) setCommands() (any, *apiError) {
	var all []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Type        int    `json:"type"`
		Options     []struct {
			Type        int    `json:"type"`
			Name        string `json:"name"`
			Description string `json:"description"`
			MaxLength   int    `json:"max_length"`
		} `json:"options"`
	}
	if err := json.Unmarshal(c.raw, &all); err != nil {
		return nil, form("%v", err)
	}
	if c.parts[1] != AppID {
		return nil, &apiError{status: http.StatusForbidden, code: 20012, message: "You are not authorized to perform this action on this application"}
	}
	names := map[string]bool{}
	for _, cmd := range all {
		if !named(cmd.Name) || names[cmd.Name] {
			return nil, form("name: Command name is invalid (%q)", cmd.Name)
		}
		names[cmd.Name] = true
		if n := utf8.RuneCountInString(cmd.Description); n < 1 || n > 100 {
			return nil, form("description: Must be between 1 and 100 in length.")
		}
		for _, o := range cmd.Options {
			if n := utf8.RuneCountInString(o.Description); o.Type < 1 || o.Type > 11 || !named(o.Name) || n < 1 || n > 100 || o.MaxLength > 6000 {
				return nil, form("options: option %q is invalid", o.Name)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = string(c.raw)
	c.Signal()
	return []any{}, nil
}

func named(s string) bool {
	return len(s) >= 1 && len(s) <= 32 && strings.ToLower(s) == s && !strings.ContainsAny(s, " /.@")
}

// Messages returns those of a channel, the bot's and people's, oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if c := s.channels[channel]; c != nil {
		for _, m := range c.messages {
			n := *m
			n.Buttons = slices.Clone(m.Buttons)
			out = append(out, n)
		}
	}
	return out
}

// Bots are the bot's messages in a channel, oldest first.
func (s *Server) Bots(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.Author != BotID })
}

// Refuse makes every call that concerns a channel fail; status 0 ends it, of
// which the gateway tells where the channel is a server's.
func (s *Server) Refuse(channel string, status, code int, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil {
		panic(fmt.Sprintf("discordtest: no channel %s", channel))
	}
	if c.refusal = nil; status == 0 {
		s.emit(c, "CHANNEL_UPDATE", c)
		return
	}
	c.refusal = &apiError{status: status, code: code, message: message}
}
