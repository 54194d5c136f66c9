package telegramtest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// User is a person; the zero value of Lang tells none.
type User struct {
	ID       int64
	Name     string
	Username string
	Lang     string
}

func (u User) json() map[string]any {
	m := map[string]any{"id": u.ID, "is_bot": false, "first_name": u.Name}
	if u.Username != "" {
		m["username"] = u.Username
	}
	if u.Lang != "" {
		m["language_code"] = u.Lang
	}
	return m
}

// pending is an update that isn't confirmed.
type pending struct {
	id   int64
	kind string
	body map[string]any
}

func (p pending) json() map[string]any {
	return map[string]any{"update_id": p.id, p.kind: p.body}
}

// Push delivers an update of any kind and returns its id. It is what the
// methods below do.
func (s *Server) Push(kind string, body map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(kind, body)
}

func (s *Server) push(kind string, body map[string]any) int64 {
	s.nextID++
	p := pending{s.nextID, kind, body}
	if s.hook.url != "" {
		s.enqueue(p)
	} else {
		s.updates = append(s.updates, p)
	}
	s.Signal()
	return p.id
}

// SetNextUpdate makes ids go on from there, as they do after a week of
// silence.
func (s *Server) SetNextUpdate(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID = id - 1
}

// Say lets a person write to a private chat, which is open from then on. more
// overrides or adds fields of the message. It returns the message's id.
func (s *Server) Say(from User, text string, more map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(from.ID, "private", "")
	return s.say(c, from, text, more)
}

// SayIn lets a person write in a group, which AddGroup made.
func (s *Server) SayIn(group int64, from User, text string, more map[string]any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.say(s.chats[group], from, text, more)
}

func (s *Server) say(c *chat, from User, text string, more map[string]any) int64 {
	s.nextMsg++
	m := map[string]any{"message_id": s.nextMsg, "date": s.opts.Now().Unix(), "chat": c.json(), "from": from.json(), "text": text}
	if text == "" {
		delete(m, "text")
	}
	maps.Copy(m, more)
	id, _ := m["message_id"].(int64)
	c.seen[id] = true
	if topic, ok := m["message_thread_id"].(int64); ok && m["is_topic_message"] == true {
		c.topics[topic] = true
	}
	s.push("message", m)
	return id
}

// Press lets a person press a button, and returns the press's id.
func (s *Server) Press(chatID, message int64, from User, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextName++
	id := "90000" + strconv.FormatInt(s.nextName, 10)
	s.presses[id] = &pressed{}
	c := s.open(chatID, "private", "")
	m := map[string]any{"message_id": message, "date": s.opts.Now().Unix(), "chat": c.json(), "text": "?"}
	for _, sent := range s.messages[chatID] {
		if sent.ID == message && sent.Thread != 0 {
			m["message_thread_id"], m["is_topic_message"] = sent.Thread, true
		}
	}
	s.push("callback_query", map[string]any{"id": id, "from": from.json(), "message": m, "chat_instance": "1", "data": data})
	return id
}

type pressed struct{ answered bool }

// do is what a call does; getUpdates waits.
func (s *Server) getUpdates(ctx context.Context, params map[string]any) (any, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook.url != "" {
		return nil, conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if s.poll != nil {
		s.poll(errOther) // the older one loses
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.poll = stop
	s.polls++
	s.Signal()
	defer func() { s.polls--; s.Signal() }()
	limit, timeout := 100, time.Duration(0)
	if n, ok := params["limit"].(int64); ok {
		if n < 1 || n > 100 {
			return nil, bad("limit must be from 1 to 100")
		}
		limit = int(n)
	}
	if n, ok := params["timeout"].(int64); ok {
		timeout = time.Duration(min(n, 50)) * time.Second
	}
	if off, ok := params["offset"].(int64); ok && off > 0 {
		s.updates = slices.DeleteFunc(s.updates, func(p pending) bool { return p.id < off })
		s.Signal()
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		if n := min(limit, len(s.updates)); n > 0 || timeout == 0 {
			out := make([]any, n)
			for i, p := range s.updates[:n] {
				out[i] = p.json()
			}
			return out, nil
		}
		changed := s.Next()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-deadline.C:
			timeout = 0
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		s.mu.Lock()
		switch {
		case errors.Is(context.Cause(ctx), errOther):
			return nil, conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
		case errors.Is(context.Cause(ctx), errHook):
			return nil, conflict("terminated by setWebhook request")
		case ctx.Err() != nil, s.ctx.Err() != nil:
			return []any{}, nil
		}
	}
}

var (
	errOther = errors.New("another poll")
	errHook  = errors.New("a webhook was set")
)

func conflict(text string) *apiError {
	return &apiError{code: http.StatusConflict, description: "Conflict: " + text}
}

// Polling tells whether a poll waits.
func (s *Server) Polling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls > 0
}

// Unconfirmed lists the updates that wait, for a poll or a webhook.
func (s *Server) Unconfirmed() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int64
	for _, p := range s.updates {
		out = append(out, p.id)
	}
	for _, q := range s.hook.queues {
		for _, p := range q {
			out = append(out, p.id)
		}
	}
	slices.Sort(out)
	return out
}

// encode is the update as a webhook gets it.
func (p pending) encode() []byte {
	text, err := json.Marshal(p.json())
	if err != nil {
		panic(err) // made of maps, texts and numbers
	}
	return text
}
