package whatsappwebtest

import (
	"strconv"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"
)

// drop does something to the bot's connection, if there is one.
func (s *Server) drop(how func(*conn)) {
	s.mu.Lock()
	c := s.conn
	var pairing *conn
	if s.pairing != nil {
		pairing = s.pairing.c
	}
	s.mu.Unlock()
	for _, c := range []*conn{c, pairing} {
		if c != nil {
			how(c)
		}
	}
}

// Leave closes the connection in an orderly way.
func (s *Server) Leave() {
	s.drop(func(c *conn) { _ = c.ws.Close(websocket.StatusGoingAway, "") }) // whoever is gone is gone
}

// Reset breaks the connection off.
func (s *Server) Reset() { s.drop(func(c *conn) { c.reset() }) }

// Silence keeps the connection open and says nothing on it any more.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.silent, s.conn.active = true, false
	}
}

// Hold keeps new connections waiting, before they are any, until Release.
func (s *Server) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(chan struct{})
	}
}

// Release ends Hold.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// StreamError ends the stream with a code, such as 503.
func (s *Server) StreamError(code int) {
	s.drop(func(c *conn) {
		c.send(waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": strconv.Itoa(code)}})
		c.later()
	})
}

// Replace lets another program take the connection's place.
func (s *Server) Replace() { s.drop(func(c *conn) { c.replaced() }) }

// Unlink removes the bot's device on the owner's phone.
func (s *Server) Unlink() {
	s.mu.Lock()
	c := s.conn
	s.device = nil
	s.forsake()
	s.note()
	s.mu.Unlock()
	if c == nil {
		return
	}
	c.send(waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": "401"}, Content: []waBinary.Node{{
		Tag: "conflict", Attrs: waBinary.Attrs{"type": "device_removed"},
	}}})
	c.later()
}

// Refuse lets the next login fail for a reason (WhatsApp's code); code and
// expire belong to 402, a ban for so many seconds.
func (s *Server) Refuse(reason, code, expire int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = append(s.refuse, refusal{reason, code, expire})
}
