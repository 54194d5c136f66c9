package discordtest

import (
	"encoding/json"
	"errors"
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

// resumePath is where sessions are resumed, below the gateway.
const resumePath = "/resumed"

// frame is one that the gateway sends.
type frame struct {
	Op int    `json:"op"`
	D  any    `json:"d"`
	S  *int64 `json:"s"`
	T  string `json:"t,omitempty"`
}

// socket is one connection.
type socket struct {
	*Server
	conn    *websocket.Conn
	version string
	path    string

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
	c := &socket{Server: s, conn: conn, version: q.Get("v"), path: strings.TrimRight(r.URL.Path, "/"), wake: make(chan struct{}, 1), beat: time.Now()}
	s.mu.Lock()
	c.silent = s.silent
	s.sockets[c] = true
	s.Signal()
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
	s.Signal()
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
			late := time.Since(c.beat) > max(3*c.opts.Heartbeat, time.Second) && !c.silent // tests beat faster
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

// close ends a connection in the gateway's way: the client may answer.
func (c *socket) close(code int, text string) {
	_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
	time.AfterFunc(time.Second, func() { _ = c.conn.NetConn().Close() })
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
	defer c.Signal()
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
		var seq int64
		if json.Unmarshal(d, &seq) != nil || c.session != nil && seq > c.session.seq { // null is 0
			c.reportf("a heartbeat with %s", d)
		}
		c.beats = append(c.beats, seq)
		c.mu.Lock()
		c.beat = now
		c.mu.Unlock()
		c.send(frame{Op: opAck})
	case opPresence:
		if c.session == nil {
			return 4003, "Not authenticated."
		}
	case opIdentify, opResume:
		switch {
		case c.noLogins: // nothing comes of it
		case op == opIdentify:
			return c.identify(d)
		default:
			return c.resume(d)
		}
	default:
		c.reportf("the gateway got operation %d", op)
		return 4001, "Unknown opcode."
	}
	return 0, ""
}
