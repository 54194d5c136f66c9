package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// The gateway's operations.
const (
	opDispatch = iota
	opHeartbeat
	opIdentify
	opPresence
	_
	_
	opResume
	opReconnect
	_
	opInvalid
	opHello
	opAck
)

// Intents that the fake knows.
const (
	IntentGuilds         = 1 << 0
	IntentGuildMessages  = 1 << 9
	IntentDirectMessages = 1 << 12
	IntentMessageContent = 1 << 15
)

// frame is one that the gateway sends.
type frame struct {
	Op int    `json:"op"`
	D  any    `json:"d"`
	S  *int64 `json:"s"`
	T  string `json:"t,omitempty"`
}

// session is what outlives a connection.
type session struct {
	id      string
	intents int
	seq     int64
	log     []frame
	socket  *socket // nil while nobody is connected
}

// socket is one connection.
type socket struct {
	*Server
	conn    *websocket.Conn
	version string

	mu     sync.Mutex
	out    []frame
	wake   chan struct{}
	silent bool // nothing is sent any more
	beat   time.Time

	// Of Server.mu.
	session *session
	sent    []time.Time
}

func (s *Server) ws() string { return "ws" + strings.TrimPrefix(s.http.URL, "http") + "/gateway" }

// GatewayURL is where the gateway listens.
func (s *Server) GatewayURL() string { return s.ws() }

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

func (s *Server) gateway(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	if away {
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	q := r.URL.Query()
	if v := q.Get("v"); v != "9" && v != "10" || q.Get("encoding") != "json" || q.Get("compress") != "" {
		s.violatef("the gateway was called with %q", r.URL.RawQuery)
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &socket{Server: s, conn: conn, version: q.Get("v"), wake: make(chan struct{}, 1), beat: time.Now()}
	s.mu.Lock()
	s.sockets[c] = true
	s.signal()
	s.mu.Unlock()
	done := make(chan struct{})
	s.work.Go(func() { c.write(done) })
	c.send(frame{Op: opHello, D: map[string]any{"heartbeat_interval": s.opts.Heartbeat.Milliseconds(), "_trace": []string{}}})
	c.read()
	close(done)
	_ = conn.NetConn().Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, c)
	if c.session != nil && c.session.socket == c {
		c.session.socket = nil
	}
	s.signal()
}

func (c *socket) send(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return
	}
	c.out = append(c.out, f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write sends what waits, and closes what doesn't beat.
func (c *socket) write(done <-chan struct{}) {
	watch := time.NewTicker(c.opts.Heartbeat)
	defer watch.Stop()
	for {
		select {
		case <-done:
			return
		case <-watch.C:
			c.mu.Lock()
			late := time.Since(c.beat) > 3*c.opts.Heartbeat && !c.silent
			c.mu.Unlock()
			if late {
				c.close(4000, "no heartbeat")
			}
			continue
		case <-c.wake:
		}
		c.mu.Lock()
		out := c.out
		c.out = nil
		c.mu.Unlock()
		for _, f := range out {
			if c.conn.WriteJSON(f) != nil {
				return
			}
		}
	}
}

// close ends a connection in the gateway's way.
func (c *socket) close(code int, text string) {
	_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
	_ = c.conn.NetConn().Close()
}

func (c *socket) read() {
	for {
		_, raw, err := c.conn.ReadMessage()
		if err != nil {
			// A client that leaves in the usual way ends its session.
			if ce := new(websocket.CloseError); errors.As(err, &ce) && (ce.Code == websocket.CloseNormalClosure || ce.Code == websocket.CloseGoingAway) {
				c.Server.mu.Lock()
				if c.session != nil && c.session.socket == c {
					delete(c.sessions, c.session.id)
				}
				c.Server.mu.Unlock()
			}
			return
		}
		var in struct {
			Op *int            `json:"op"`
			D  json.RawMessage `json:"d"`
		}
		if err := json.Unmarshal(raw, &in); err != nil || in.Op == nil || len(raw) > 4096 {
			c.violatef("the gateway got %.100q", raw)
			c.close(4002, "Error while decoding payload.")
			return
		}
		if code, text := c.take(*in.Op, in.D); code != 0 {
			c.close(code, text)
			return
		}
	}
}

// take handles one frame; a code closes the connection.
func (c *socket) take(op int, d json.RawMessage) (code int, text string) {
	c.Server.mu.Lock()
	defer c.Server.mu.Unlock()
	defer c.signal()
	now := time.Now()
	for len(c.sent) > 0 && now.Sub(c.sent[0]) > time.Minute {
		c.sent = c.sent[1:]
	}
	if op != opHeartbeat || c.opts.Heartbeat >= time.Second { // tests beat faster
		c.sent = append(c.sent, now)
	}
	if len(c.sent) > 120 {
		c.reportf("more than 120 frames in a minute")
		return 4008, "Rate limited."
	}
	switch op {
	case opHeartbeat:
		c.mu.Lock()
		c.beat = now
		c.mu.Unlock()
		c.send(frame{Op: opAck})
	case opPresence:
		if c.session == nil {
			return 4003, "Not authenticated."
		}
	case opIdentify:
		return c.identify(d)
	case opResume:
		return c.resume(d)
	default:
		c.reportf("the gateway got operation %d", op)
		return 4001, "Unknown opcode."
	}
	return 0, ""
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
		"v": 10, "user": me(), "session_id": s.id, "resume_gateway_url": c.ws(), "session_type": "normal", "private_channels": []any{},
		"guilds": []any{map[string]any{"id": GuildID, "unavailable": true}}, "application": map[string]any{"id": AppID, "flags": 1 << 19},
		"relationships": []any{}, "presences": []any{}, "guild_join_requests": []any{}, "_trace": []any{},
	})
	if s.intents&IntentGuilds != 0 {
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
	s := c.sessions[in.SessionID]
	switch {
	case c.session != nil:
		return 4005, "Already authenticated."
	case c.revoked || strings.TrimPrefix(in.Token, "Bot ") != c.opts.Token:
		return 4004, "Authentication failed."
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
	s.dispatch("RESUMED", map[string]any{"_trace": []any{}})
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
// held. what is a *Message or an *interaction.
func (s *Server) emit(c *channel, kind string, what any) {
	for _, one := range s.sessions {
		var d map[string]any
		switch w := what.(type) {
		case *interaction:
			d = w.body
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

// Disconnect closes every connection with a close code; sessions can be
// resumed, as far as the code lets a client believe.
func (s *Server) Disconnect(code int) {
	for _, c := range s.open() {
		c.close(code, "")
	}
}

// Reset cuts every connection without a word.
func (s *Server) Reset() {
	for _, c := range s.open() {
		if t, ok := c.conn.NetConn().(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		_ = c.conn.NetConn().Close()
	}
}

// Silence lets every connection be, and sends nothing on it any more, not
// even acknowledgements of heartbeats.
func (s *Server) Silence() {
	for _, c := range s.open() {
		c.mu.Lock()
		c.silent, c.out = true, nil
		c.mu.Unlock()
	}
}

// Reconnect asks every client to connect anew (operation 7).
func (s *Server) Reconnect() {
	for _, c := range s.open() {
		c.send(frame{Op: opReconnect})
	}
}

// Invalidate tells every client that its session is invalid (operation 9),
// and forgets the sessions unless they can be resumed.
func (s *Server) Invalidate(resumable bool) {
	s.mu.Lock()
	if !resumable {
		s.sessions = map[string]*session{}
	}
	s.mu.Unlock()
	for _, c := range s.open() {
		c.send(frame{Op: opInvalid, D: resumable})
	}
}

// RefuseResumes lets the next n resumes find their session gone.
func (s *Server) RefuseResumes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// Restart is the gateway's end and new beginning: every connection is cut and
// every session forgotten. Messages stay.
func (s *Server) Restart() {
	s.mu.Lock()
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	s.Reset()
}

// SetAway lets the gateway answer 502 while it is true.
func (s *Server) SetAway(away bool) {
	s.mu.Lock()
	s.away = away
	s.mu.Unlock()
	if away {
		s.Reset()
	}
}

func (s *Server) open() (out []*socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sockets {
		out = append(out, c)
	}
	return out
}

// Connected counts the connections that have a session.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.sessions {
		if one.socket != nil {
			n++
		}
	}
	return n
}

// Identified counts how often a client identified.
func (s *Server) Identified() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.identifies)
}

// Sessions counts the sessions that could be resumed or are in use.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}
