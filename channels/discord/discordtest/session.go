package discordtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Intents that the fake knows.
const (
	IntentGuilds         = 1 << 0
	IntentGuildMessages  = 1 << 9
	IntentDirectMessages = 1 << 12
	IntentMessageContent = 1 << 15
)

// session is what outlives a connection.
type session struct {
	id      string
	intents int
	seq     int64
	log     []frame
	socket  *socket // nil while nobody is connected
}

func (c *call) gatewayBot() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return map[string]any{
		"url": c.ws(), "shards": 1,
		"session_start_limit": map[string]any{
			"total": 1000, "remaining": max(0, c.opts.Identifies-len(c.identifies)), "reset_after": 3600_000, "max_concurrency": 1,
		},
	}
}

func (c *socket) identify(d json.RawMessage) (code int, text string) {
	var in struct {
		Token      string          `json:"token"`
		Intents    *int            `json:"intents"`
		Properties json.RawMessage `json:"properties"`
		Shard      *[2]int         `json:"shard"`
	}
	if err := json.Unmarshal(d, &in); err != nil {
		return 4002, "Error while decoding payload."
	}
	c.Server.identifies = append(c.Server.identifies, c.opts.Now())
	switch {
	case c.session != nil:
		c.reportf("identified twice")
		return 4005, "Already authenticated."
	case c.revoked || strings.TrimPrefix(in.Token, "Bot ") != c.opts.Token:
		return 4004, "Authentication failed."
	case in.Intents == nil || *in.Intents < 0 || *in.Intents >= 1<<26 || len(in.Properties) == 0:
		c.reportf("identify without intents or properties")
		return 4013, "Invalid intent(s)."
	case *in.Intents&IntentMessageContent != 0 && c.opts.NoContent:
		return 4014, "Disallowed intent(s)."
	case len(c.Server.identifies) > c.opts.Identifies:
		c.reportf("identified more often than the day allows: the token is reset")
		c.revoked = true
		return 4004, "Authentication failed."
	}
	s := &session{id: "session-" + c.id(), intents: *in.Intents, socket: c}
	c.sessions[s.id], c.session = s, s
	s.dispatch("READY", map[string]any{
		"v": 10, "user": me(), "session_id": s.id, "resume_gateway_url": c.ws() + resumePath, "session_type": "normal", "private_channels": []any{},
		"guilds": []any{map[string]any{"id": GuildID, "unavailable": true}}, "application": map[string]any{"id": AppID, "flags": 1 << 19},
		"relationships": []any{}, "presences": []any{}, "guild_join_requests": []any{}, "_trace": []any{},
	})
	if s.intents&IntentGuilds != 0 && !c.noGuild {
		s.dispatch("GUILD_CREATE", c.guild())
	}
	return 0, ""
}

func (c *socket) resume(d json.RawMessage) (code int, text string) {
	var in struct {
		Token     string `json:"token"`
		SessionID string `json:"session_id"`
		Seq       int64  `json:"seq"`
	}
	if err := json.Unmarshal(d, &in); err != nil {
		return 4002, "Error while decoding payload."
	}
	c.resumes[c.path]++
	s := c.sessions[in.SessionID]
	switch {
	case c.session != nil:
		return 4005, "Already authenticated."
	case c.revoked || strings.TrimPrefix(in.Token, "Bot ") != c.opts.Token:
		return 4004, "Authentication failed."
	case c.postpone > 0:
		c.postpone--
		c.send(frame{Op: opInvalid, D: true})
		return 0, ""
	case s == nil || c.refuse > 0:
		c.refuse = max(0, c.refuse-1)
		delete(c.sessions, in.SessionID)
		c.send(frame{Op: opInvalid, D: false})
		return 0, ""
	case in.Seq > s.seq || in.Seq < 0:
		c.reportf("resumed at %d of %d", in.Seq, s.seq)
		return 4007, "Invalid seq."
	}
	if s.socket != nil {
		_ = s.socket.conn.NetConn().Close()
	}
	s.socket, c.session = c, s
	for _, f := range s.log {
		if *f.S > in.Seq {
			c.send(f)
		}
	}
	s.seq++ // of this connection alone: it isn't told again
	seq := s.seq
	c.send(frame{Op: opDispatch, D: map[string]any{"_trace": []any{}}, S: &seq, T: "RESUMED"})
	return 0, ""
}

// dispatch sends an event of a session, now or when it is resumed.
func (s *session) dispatch(kind string, d any) {
	s.seq++
	seq := s.seq
	f := frame{Op: opDispatch, D: d, S: &seq, T: kind}
	s.log = append(s.log, f)
	if s.socket != nil {
		s.socket.send(f)
	}
}

// guild is a GUILD_CREATE; s.mu is held.
func (s *Server) guild() map[string]any {
	list, threads := []any{}, []any{}
	for _, c := range s.channels {
		switch {
		case c.guild == "":
		case c.parent != "":
			threads = append(threads, c.json())
		default:
			list = append(list, c.json())
		}
	}
	role := func(id, name string, tags any) map[string]any {
		r := map[string]any{
			"id": id, "name": name, "color": 0, "hoist": false, "icon": nil, "unicode_emoji": nil, "position": 0, "permissions": "1071698660929",
			"managed": tags != nil, "mentionable": false, "flags": 0,
		}
		if tags != nil {
			r["tags"] = tags
		}
		return r
	}
	bot := User{ID: BotID, Name: Username, Bot: true}
	return map[string]any{
		"id": GuildID, "name": "Bakery", "icon": nil, "owner_id": "1", "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
		"explicit_content_filter": 0, "emojis": []any{}, "features": []any{}, "mfa_level": 0, "system_channel_flags": 0, "premium_tier": 0,
		"preferred_locale": "en-US", "nsfw_level": 0, "premium_progress_bar_enabled": false, "stickers": []any{}, "joined_at": "2026-01-01T00:00:00Z",
		"large": false, "unavailable": false, "member_count": 2, "voice_states": []any{}, "presences": []any{}, "stage_instances": []any{},
		"guild_scheduled_events": []any{}, "soundboard_sounds": []any{}, "members": []any{bot.member()}, "channels": list, "threads": threads,
		"roles": []any{role(GuildID, "@everyone", nil), role(RoleID, Username, map[string]any{"bot_id": BotID})},
	}
}

// emit sends an event of a channel to every session that wants it; s.mu is
// held. what is a *Message, an *interaction or the *channel itself.
func (s *Server) emit(c *channel, kind string, what any) {
	for _, one := range s.sessions {
		var d map[string]any
		switch w := what.(type) {
		case *interaction:
			d = w.body
		case *channel:
			if w.guild == "" || one.intents&IntentGuilds == 0 {
				continue
			}
			d = w.json()
		case *Message:
			need := IntentGuildMessages
			if c.guild == "" {
				need = IntentDirectMessages
			}
			if one.intents&need == 0 {
				continue
			}
			d = w.json(one.intents&IntentMessageContent == 0 && c.guild != "")
			d["channel_type"] = c.json()["type"]
			if c.guild != "" {
				d["guild_id"] = c.guild
				member := w.user.member()
				delete(member, "user")
				d["member"] = member
			}
		default:
			panic(fmt.Sprintf("discordtest: event of %T", what))
		}
		one.dispatch(kind, d)
	}
}
