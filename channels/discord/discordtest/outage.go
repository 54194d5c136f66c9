package discordtest

import (
	"net"
	"slices"
	"strings"
)

// Disconnect closes every connection with a close code. Sessions can be
// resumed, unless the code says that they are gone.
func (s *Server) Disconnect(code int) {
	switch code {
	case 4003, 4007, 4009:
		s.mu.Lock()
		s.sessions = map[string]*session{}
		s.mu.Unlock()
	}
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

// SetSilent is Silence, also of the connections to come, until they are cut
// when it ends.
func (s *Server) SetSilent(silent bool) {
	s.mu.Lock()
	s.silent = silent
	s.mu.Unlock()
	if silent {
		s.Silence()
	} else {
		s.Reset()
	}
}

// HoldLogins leaves logins unanswered while it is true.
func (s *Server) HoldLogins(hold bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noLogins = hold
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

// PostponeResumes lets the next n resumes be told to come again, by another
// connection.
func (s *Server) PostponeResumes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.postpone = n
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

// HoldGuild is an outage of the guild: new sessions aren't told of it, but that
// it exists.
func (s *Server) HoldGuild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noGuild = true
}

// ReleaseGuild ends that: sessions are told of the guild, or that the bot isn't
// in it any more.
func (s *Server) ReleaseGuild(left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noGuild = false
	for _, one := range s.sessions {
		if left {
			one.dispatch("GUILD_DELETE", map[string]any{"id": GuildID})
		} else {
			one.dispatch("GUILD_CREATE", s.guild())
		}
	}
}

// Resumed counts how often a client tried to resume a session, where the
// session said, and elsewhere.
func (s *Server) Resumed() (there, elsewhere int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, n := range s.resumes {
		if strings.HasSuffix(path, resumePath) {
			there += n
		} else {
			elsewhere += n
		}
	}
	return there, elsewhere
}

// AskHeartbeat asks every client for a heartbeat at once (operation 1).
func (s *Server) AskHeartbeat() {
	for _, c := range s.open() {
		c.send(frame{Op: opHeartbeat})
	}
}

// Heartbeats are the sequences that clients told with theirs; 0 is none.
func (s *Server) Heartbeats() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.beats)
}

// Sessions counts the sessions that could be resumed or are in use.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}
