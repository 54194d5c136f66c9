package whatsappwebtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// Patience bounds each wait: far more than anything needs.
const Patience = 30 * time.Second

// Config is what a server is made with. The zero value works.
type Config struct {
	// Phone and LID are the bot's account.
	Phone, LID string
}

// Server is WhatsApp with one account of a bot, its owner's phone and people.
type Server struct {
	Phone, LID string

	static *keys.KeyPair
	addr   string
	owner  *ends // the account's own phone

	line sync.Mutex // held while stanzas are delivered, for their order; taken before mu

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	http     *http.Server
	up       bool
	device   *Device // the linked one
	linked   int     // how many there were
	pairing  *pairing
	people   map[string]*Person // by number and by LID
	groups   map[string]*Group
	queue    []*Stanza
	conn     *conn
	logins   int
	refuse   []refusal
	faults   []Fault
	noKeys   int
	held     chan struct{} // new connections wait for it
	wrong    []string
	calls    int
	peer     []string // texts that the owner's phone was told of
	presence []string
	serving  sync.WaitGroup
}

// New starts a server; Close ends it.
func New(c Config) *Server {
	Trust()
	if c.Phone == "" {
		c.Phone, c.LID = "15550002222", "990002222"
	}
	s := &Server{
		Phone: c.Phone, LID: c.LID, static: keys.NewKeyPair(), owner: newEnds(),
		changed: make(chan struct{}), people: map[string]*Person{}, groups: map[string]*Group{}, addr: "127.0.0.1:0",
	}
	if err := s.listen(); err != nil {
		panic(err) // loopback has no more ports
	}
	return s
}

func (s *Server) jid() types.JID { return types.NewJID(s.Phone, types.DefaultUserServer) }
func (s *Server) lid() types.JID { return types.NewJID(s.LID, types.HiddenUserServer) }

type tcpKey struct{}

func (s *Server) listen() error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.addr)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addr, s.up = l.Addr().String(), true
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: Patience,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, tcpKey{}, c) },
	}
	srv := s.http
	s.serving.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.wrongf("serving: %v", err)
		}
	})
	return nil
}

// Close ends the server.
func (s *Server) Close() { s.Release(); s.Down() }

// Down makes the server unreachable: it drops its connection and listens no
// more.
func (s *Server) Down() {
	s.mu.Lock()
	srv, was := s.http, s.up
	s.up = false
	s.mu.Unlock()
	if !was {
		return
	}
	_ = srv.Close() // its connections are hijacked
	s.drop(func(c *conn) { c.reset() })
	s.serving.Wait()
}

// Up ends Down, at the same address; a server that is up stays so.
func (s *Server) Up() error {
	var err error
	s.mu.Lock()
	was := s.up
	s.mu.Unlock()
	if was {
		return nil
	}
	for range 50 { // the port may be taken for a moment
		if err = s.listen(); err == nil {
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
	return err
}

// Transport takes every request to this server, whatever its host.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

// Addr is the server's address, for TransportTo in another process.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// TransportTo takes every request to the server at an address.
func TransportTo(addr string) http.RoundTripper { return to(addr) }

type to string

// RoundTrip implements http.RoundTripper.
func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host = "http", string(t), string(t)
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(out)
}

type transport struct{ s *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/ws/chat" || r.Header.Get("Origin") != socket.Origin {
		t.s.wrongf("a request for %s from origin %q", r.URL.Path, r.Header.Get("Origin"))
	}
	return to(t.s.Addr()).RoundTrip(r)
}

func (s *Server) wrongf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
	s.note()
}

// Wrong lists what a strict server would have refused.
func (s *Server) Wrong() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.wrong...)
}

// note wakes who waits. s.mu is held.
func (s *Server) note() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Wait waits until cond holds, which is called with the server's lock held,
// and tells whether it does.
func (s *Server) wait(cond func() bool) bool {
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		}
	}
}

// Logins counts the logins that succeeded.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// WaitLogins waits for the n-th login, active.
func (s *Server) WaitLogins(n int) bool {
	return s.wait(func() bool { return s.logins >= n && s.conn != nil && s.conn.active })
}

// Calls counts the messages and edits that came from the bot.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Told are the texts that the owner's phone was told of: all that the bot
// sent from its own device.
func (s *Server) Told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.peer...)
}

// Presence lists what the bot showed of itself: available, composing:CHAT,
// paused:CHAT, read:ID.
func (s *Server) Presence() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.presence...)
}

// WaitPresence waits for one of them.
func (s *Server) WaitPresence(what string) bool {
	return s.wait(func() bool { return slices.Contains(s.presence, what) })
}

// Connected tells whether the bot is.
func (s *Server) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil
}

// WaitActive waits until the bot is connected and takes messages.
func (s *Server) WaitActive() bool {
	return s.wait(func() bool { return s.conn != nil && s.conn.active })
}
