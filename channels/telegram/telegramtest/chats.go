package telegramtest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

type chat struct {
	id      int64
	kind    string
	title   string
	blocked string // the 403 it answers with
	movedTo int64
	topics  map[int64]bool
	seen    map[int64]bool // people's messages
	last    time.Time
}

func (c *chat) json() map[string]any {
	m := map[string]any{"id": c.id, "type": c.kind}
	if c.title != "" {
		m["title"] = c.title
	}
	return m
}

// Message is one of the bot's as people see it.
type Message struct {
	ID     int64
	Chat   int64
	Thread int64
	// Text is what is shown, Raw what was sent.
	Text, Raw string
	Buttons   []Button
	ReplyTo   int64
	Edited    bool
}

// Button is one below a message.
type Button struct{ Text, Data string }

// open finds a chat or makes it; s.mu is held.
func (s *Server) open(id int64, kind, title string) *chat {
	if c := s.chats[id]; c != nil {
		return c
	}
	c := &chat{id: id, kind: kind, title: title, topics: map[int64]bool{}, seen: map[int64]bool{}}
	s.chats[id] = c
	return c
}

// AddChat opens a private chat without a word.
func (s *Server) AddChat(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(id, "private", "")
}

// AddGroup makes a group (kind "group" or "supergroup") that the bot is in,
// with topics where it is a forum.
func (s *Server) AddGroup(id int64, kind string, topics ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(id, kind, "Group")
	for _, t := range topics {
		c.topics[t] = true
	}
}

// Block makes every message to the chat fail with 403.
func (s *Server) Block(id int64, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(id, "private", "").blocked = description
}

// Migrate makes a group a supergroup under a new id, with the two service
// messages that tell of it where told is true.
func (s *Server) Migrate(from, to int64, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, c := s.chats[from], s.open(to, "supergroup", "Group")
	old.movedTo = to
	if told {
		by := User{ID: 1, Name: "Admin"}
		s.say(old, by, "", map[string]any{"migrate_to_chat_id": to})
		s.say(c, by, "", map[string]any{"migrate_from_chat_id": from})
	}
}

// Messages are the bot's in a chat, oldest first.
func (s *Server) Messages(id int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages[id] {
		c := *m
		c.Buttons = slices.Clone(m.Buttons)
		out = append(out, c)
	}
	return out
}

// do carries a call out.
func (s *Server) do(ctx context.Context, method string, p map[string]any) (any, *apiError) {
	if method == "getUpdates" {
		return s.getUpdates(ctx, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "getMe":
		return map[string]any{
			"id": s.opts.BotID, "is_bot": true, "first_name": "Parley", "username": s.opts.Username,
			"can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
		}, nil
	case "setWebhook":
		return s.setWebhook(p)
	case "deleteWebhook":
		return s.deleteWebhook(p)
	case "getWebhookInfo":
		return s.webhookInfo(), nil
	case "sendMessage":
		return s.sendMessage(p)
	case "editMessageText", "editMessageReplyMarkup":
		return s.edit(method, p)
	case "answerCallbackQuery":
		return s.answer(p)
	case "sendChatAction":
		return s.action(p)
	case "setMyCommands":
		return s.setCommands(p)
	}
	return nil, &apiError{code: http.StatusNotFound, description: "Not Found: method not found"}
}

// target finds the chat that a call is for.
func (s *Server) target(p map[string]any) (*chat, *apiError) {
	id, _ := p["chat_id"].(int64)
	c := s.chats[id]
	switch {
	case c == nil:
		return nil, bad("chat not found")
	case c.movedTo != 0:
		e := bad("group chat was upgraded to a supergroup chat")
		e.movedTo = c.movedTo
		return nil, e
	case c.blocked != "":
		return nil, &apiError{code: http.StatusForbidden, description: "Forbidden: " + c.blocked}
	}
	if t, ok := p["message_thread_id"].(int64); ok && !c.topics[t] {
		return nil, bad("message thread not found")
	}
	return c, nil
}

// shown is the text as people see it, within the limits.
func shown(p map[string]any) (string, *apiError) {
	raw, _ := p["text"].(string)
	text := raw
	switch mode, _ := p["parse_mode"].(string); strings.ToLower(mode) {
	case "":
	case "html":
		var err error
		if text, err = htmlText(raw); err != nil {
			return "", bad("%v", err)
		}
	default:
		return "", bad("unsupported parse_mode")
	}
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(raw):
		return "", bad("strings must be encoded in UTF-8")
	case text == "":
		return "", bad("message text is empty")
	case len(utf16.Encode([]rune(text))) > 4096, len(raw) > 32768:
		return "", bad("message is too long")
	}
	return text, nil
}

func (s *Server) sendMessage(p map[string]any) (any, *apiError) {
	c, fail := s.target(p)
	if fail != nil {
		return nil, fail
	}
	text, fail := shown(p)
	if fail != nil {
		return nil, fail
	}
	m := &Message{Chat: c.id, Text: text}
	m.Raw, _ = p["text"].(string)
	m.Thread, _ = p["message_thread_id"].(int64)
	if m.Buttons, fail = s.keyboard(p["reply_markup"]); fail != nil {
		return nil, fail
	}
	if m.ReplyTo, fail = s.replyTo(c, p["reply_parameters"]); fail != nil {
		return nil, fail
	}
	if now := s.opts.Now(); s.opts.RatePerChat {
		if now.Sub(c.last) < time.Second {
			return nil, &apiError{code: http.StatusTooManyRequests, description: "Too Many Requests: retry after 1", retryAfter: 1}
		}
		c.last = now
	}
	s.nextMsg++
	m.ID = s.nextMsg
	s.messages[c.id] = append(s.messages[c.id], m)
	return s.messageJSON(c, m), nil
}

func (s *Server) messageJSON(c *chat, m *Message) map[string]any {
	out := map[string]any{
		"message_id": m.ID, "date": s.opts.Now().Unix(), "chat": c.json(), "text": m.Text,
		"from": map[string]any{"id": s.opts.BotID, "is_bot": true, "first_name": "Parley", "username": s.opts.Username},
	}
	if m.ReplyTo != 0 {
		// A part of a kind that is newer than any client.
		out["reply_to_message"] = map[string]any{
			"message_id": m.ReplyTo, "date": 1, "chat": c.json(), "forward_origin": map[string]any{"type": "brand_new", "date": 1},
		}
	}
	return out
}

func (s *Server) replyTo(c *chat, v any) (int64, *apiError) {
	if v == nil {
		return 0, nil
	}
	m, err := fields(v, "reply_parameters", "message_id!", "chat_id", "allow_sending_without_reply", "quote", "quote_parse_mode", "quote_entities", "quote_position")
	if err != nil {
		return 0, bad("%v", err)
	}
	id, err2 := convert("int", m["message_id"])
	if err2 != nil {
		return 0, bad("%v", err2)
	}
	n, _ := id.(int64)
	if c.seen[n] || s.find(c.id, n) != nil {
		return n, nil
	}
	if m["allow_sending_without_reply"] == true {
		return 0, nil
	}
	return 0, bad("message to be replied not found")
}

func (s *Server) find(chat, id int64) *Message {
	i := slices.IndexFunc(s.messages[chat], func(m *Message) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return s.messages[chat][i]
}

func (s *Server) keyboard(v any) ([]Button, *apiError) {
	if v == nil {
		return nil, nil
	}
	m, err := fields(v, "reply_markup", "inline_keyboard!")
	if err != nil {
		return nil, bad("%v", err)
	}
	rows, ok := m["inline_keyboard"].([]any)
	if !ok {
		return nil, bad("inline_keyboard is no list")
	}
	var out []Button
	for _, row := range rows {
		cells, ok := row.([]any)
		if !ok || len(cells) > 8 {
			return nil, bad("BUTTON_INVALID")
		}
		for _, cell := range cells {
			b, err := fields(cell, "button", "text!", "callback_data!", "style")
			if err != nil {
				return nil, bad("can't parse inline keyboard button: %v", err)
			}
			text, _ := b["text"].(string)
			data, _ := b["callback_data"].(string)
			if strings.TrimSpace(text) == "" {
				return nil, bad("text buttons must have a non-empty text")
			}
			if len(data) < 1 || len(data) > 64 {
				return nil, bad("BUTTON_DATA_INVALID")
			}
			out = append(out, Button{text, data})
		}
	}
	if len(out) > 100 {
		return nil, bad("reply markup is too long")
	}
	return out, nil
}

func (s *Server) edit(method string, p map[string]any) (any, *apiError) {
	c, fail := s.target(p)
	if fail != nil {
		return nil, fail
	}
	id, _ := p["message_id"].(int64)
	m := s.find(c.id, id)
	if m == nil {
		return nil, bad("message to edit not found")
	}
	buttons, fail := s.keyboard(p["reply_markup"])
	if fail != nil {
		return nil, fail
	}
	text, raw := m.Text, m.Raw
	if method == "editMessageText" {
		if text, fail = shown(p); fail != nil {
			return nil, fail
		}
		raw, _ = p["text"].(string)
	}
	if text == m.Text && slices.Equal(buttons, m.Buttons) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text, m.Raw, m.Buttons, m.Edited = text, raw, buttons, true
	return s.messageJSON(c, m), nil
}

func (s *Server) answer(p map[string]any) (any, *apiError) {
	id, _ := p["callback_query_id"].(string)
	text, _ := p["text"].(string)
	q := s.presses[id]
	switch {
	case q == nil, q.answered:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case utf8.RuneCountInString(text) > 200:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	q.answered = true
	return true, nil
}

// Expire makes a press too old to be answered.
func (s *Server) Expire(press string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.presses, press)
}

func (s *Server) action(p map[string]any) (any, *apiError) {
	if _, fail := s.target(p); fail != nil {
		return nil, fail
	}
	if p["action"] != "typing" {
		return nil, bad("wrong parameter action in request")
	}
	return true, nil
}
