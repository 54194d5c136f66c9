package discordtest

import (
	"fmt"
	"maps"
)

// User is a person.
type User struct {
	ID, Name string
	// Locale is what their client speaks; interactions tell it.
	Locale string
	// Bot is true for another bot.
	Bot bool
}

func (u User) json() map[string]any {
	return map[string]any{
		"id": u.ID, "username": "user" + u.ID, "global_name": u.Name, "discriminator": "0", "avatar": nil, "bot": u.Bot, "public_flags": 0, "flags": 0,
	}
}

func (u User) member() map[string]any {
	return map[string]any{
		"user": u.json(), "nick": nil, "roles": []any{}, "joined_at": "2026-01-01T00:00:00Z", "deaf": false, "mute": false, "flags": 0, "permissions": "0",
	}
}

// DM opens the direct conversation with a person, or finds it.
func (s *Server) DM(u User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dm(u).id
}

func (s *Server) dm(u User) *channel {
	for _, c := range s.channels {
		if c.guild == "" && c.user.ID == u.ID {
			return c
		}
	}
	c := &channel{id: s.id(), user: u, nonces: map[string]nonce{}}
	s.channels[c.id] = c
	return c
}

// AddChannel makes a text channel of the guild, or a thread of parent.
func (s *Server) AddChannel(parent string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &channel{id: s.id(), guild: GuildID, parent: parent, nonces: map[string]nonce{}}
	s.channels[c.id] = c
	return c.id
}

// Say lets a person write in a channel; extra replaces fields of the event.
// It returns the message's id.
func (s *Server) Say(u User, channel, text string, extra map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.must(channel)
	m := &Message{ID: s.id(), Channel: channel, guild: c.guild, Author: u.ID, user: u, Content: text, extra: map[string]any{}}
	maps.Copy(m.extra, extra)
	if id, ok := m.extra["reply"].(string); ok {
		delete(m.extra, "reply")
		m.ReplyTo, m.answer = id, c.find(id)
	}
	c.messages = append(c.messages, m)
	s.emit(c, "MESSAGE_CREATE", m)
	s.Signal()
	return m.ID
}

// Late lets a person write what no event tells of: Discord keeps an order
// within a channel only, and a session may end in between.
func (s *Server) Late(u User, channel, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.must(channel)
	m := &Message{ID: s.id(), Channel: channel, guild: c.guild, Author: u.ID, user: u, Content: text}
	c.messages = append(c.messages, m)
	return m.ID
}

// Again delivers a message once more.
func (s *Server) Again(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.must(channel)
	s.emit(c, "MESSAGE_CREATE", c.find(id))
	s.Signal()
}

// Change lets a person edit what they wrote; an empty text is Discord adding
// a preview, which nobody edited.
func (s *Server) Change(channel, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.must(channel)
	m := c.find(id)
	if text != "" {
		m.Content, m.Edits = text, m.Edits+1
		m.Edited = stamp(s.id())
	}
	s.emit(c, "MESSAGE_UPDATE", m)
	s.Signal()
}

func (s *Server) must(id string) *channel {
	c := s.channels[id]
	if c == nil {
		panic(fmt.Sprintf("discordtest: no channel %s", id))
	}
	return c
}
