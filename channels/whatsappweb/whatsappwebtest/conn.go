package whatsappwebtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/types"
)

// conn is one connection of the bot.
type conn struct {
	s   *Server
	ws  *websocket.Conn
	tcp net.Conn
	buf []byte
	p   *pipe
	ctx context.Context

	payload *waWa6.ClientPayload
	device  *Device       // logged in as; nil while pairing
	cut     chan struct{} // closed by reset
	once    sync.Once
	active  bool // wants its messages; Server.mu
	silent  bool // Server.mu

	mu sync.Mutex // of writing
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the origin is WhatsApp's own
	if err != nil {
		return
	}
	ws.SetReadLimit(socket.FrameMaxSize)
	tcp, _ := r.Context().Value(tcpKey{}).(net.Conn)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	c := &conn{s: s, ws: ws, tcp: tcp, ctx: ctx, cut: make(chan struct{})}
	s.serving.Add(1)
	defer s.serving.Done()
	defer ws.CloseNow() //nolint:errcheck // it is over
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	if !up {
		return
	}
	if err := c.run(); err != nil && !gone(err) {
		s.wrongf("connection: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c {
		s.conn = nil
	}
	s.note()
}

// gone tells whether the connection just ended.
func gone(err error) bool {
	return websocket.CloseStatus(err) != -1 || errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) || isEnd(err)
}

func isEnd(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "closed")
}

func (c *conn) run() error {
	for len(c.buf) < len(socket.WAConnHeader) {
		if err := c.fill(); err != nil {
			return err
		}
	}
	head := c.buf[:len(socket.WAConnHeader)]
	c.buf = c.buf[len(socket.WAConnHeader):]
	if string(head) != string(socket.WAConnHeader) {
		return errors.New("another header than WhatsApp's")
	}
	p, payload, static, err := c.s.handshake(c.frame, c.raw)
	if err != nil {
		return err
	}
	c.p, c.payload = p, payload
	if !c.login(static) {
		// The client ends it, or the server does after a while.
		_, _, _ = c.ws.Read(c.ctx)
		return nil
	}
	for {
		data, err := c.frame()
		if err != nil {
			return err
		}
		plain, err := c.p.read.Open(nil, iv(c.p.in), data, nil)
		c.p.in++
		if err != nil {
			// The SDK's last frames may come in another order: it lets go of
			// one whose caller has given up. It's the end either way.
			return nil //nolint:nilerr // see above
		}
		if plain, err = waBinary.Unpack(plain); err != nil {
			return err
		}
		n, err := waBinary.Unmarshal(plain)
		if err != nil {
			return err
		}
		c.s.mu.Lock()
		silent := c.silent
		unlinked := c.device != nil && c.device != c.s.device
		c.s.mu.Unlock()
		switch {
		case silent: // nor is it read any more
			<-c.cut
			return nil
		case !unlinked:
			c.take(n)
		}
	}
}

// fill reads one websocket message.
func (c *conn) fill() error {
	kind, data, err := c.ws.Read(c.ctx)
	if err != nil {
		return err
	}
	if kind != websocket.MessageBinary {
		return errors.New("a text message")
	}
	c.buf = append(c.buf, data...)
	return nil
}

// frame reads one frame: three bytes of length, and the data.
func (c *conn) frame() ([]byte, error) {
	for {
		if len(c.buf) >= 3 {
			n := int(c.buf[0])<<16 | int(c.buf[1])<<8 | int(c.buf[2])
			if len(c.buf) >= 3+n {
				out := append([]byte(nil), c.buf[3:3+n]...)
				c.buf = append([]byte(nil), c.buf[3+n:]...)
				return out, nil
			}
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

func (c *conn) raw(data []byte) error {
	n := len(data)
	return c.ws.Write(c.ctx, websocket.MessageBinary, append([]byte{byte(n >> 16), byte(n >> 8), byte(n)}, data...))
}

// send writes a node; one that can't be is lost, as on a real connection.
func (c *conn) send(n waBinary.Node) {
	plain, err := waBinary.Marshal(n)
	if err != nil {
		c.s.wrongf("encoding %s: %v", n.Tag, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	data := c.p.write.Seal(nil, iv(c.p.out), plain, nil)
	c.p.out++
	_ = c.raw(data) // see above
}

// reset ends the connection as a router does that forgot it.
func (c *conn) reset() {
	c.once.Do(func() { close(c.cut) })
	if t, ok := c.tcp.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // then it is a clean end
	}
	if c.tcp != nil {
		_ = c.tcp.Close()
	}
	_ = c.ws.CloseNow() // it is closed
}

// login answers a client that has shown who it is. false ends the connection.
func (c *conn) login(static []byte) bool {
	s := c.s
	if c.payload.DevicePairingData != nil {
		s.beginPairing(c, static)
		return true
	}
	s.mu.Lock()
	d := s.device
	var r *refusal
	if len(s.refuse) > 0 {
		r = &s.refuse[0]
		s.refuse = s.refuse[1:]
	}
	known := d != nil && string(d.noise) == string(static) && uint32(d.number) == c.payload.GetDevice() &&
		strconv.FormatUint(c.payload.GetUsername(), 10) == s.Phone
	s.mu.Unlock()
	if r == nil && !known {
		r = &refusal{reason: 401}
	}
	if r != nil {
		c.send(waBinary.Node{Tag: "failure", Attrs: r.attrs()})
		if r.reason == 503 || r.reason == 500 {
			_ = c.ws.Close(websocket.StatusNormalClosure, "") // it ends these itself
		}
		return false
	}
	s.mu.Lock()
	old := s.conn
	quiet := old != nil && old.silent
	c.device = d
	s.conn = c
	s.logins++
	s.note()
	s.mu.Unlock()
	switch {
	case old == nil:
	case quiet:
		old.reset()
	default:
		old.replaced()
	}
	c.send(waBinary.Node{Tag: "success", Attrs: waBinary.Attrs{
		"t": time.Now().Unix(), "lid": types.JID{User: s.LID, Device: d.number, Server: types.HiddenUserServer}, "props": "1",
	}})
	return true
}

// replaced tells a connection that another one took its place.
func (c *conn) replaced() {
	c.send(waBinary.Node{Tag: "stream:error", Content: []waBinary.Node{{Tag: "conflict", Attrs: waBinary.Attrs{"type": "replaced"}}}})
	c.later()
}

// later closes the connection, right behind what was sent last. It doesn't
// wait for the client to close it, too.
func (c *conn) later() {
	c.s.serving.Go(func() { _ = c.ws.Close(websocket.StatusNormalClosure, "") }) // whoever is gone is gone
}

// refusal is a login that fails.
type refusal struct {
	reason       int
	code, expire int
}

func (r refusal) attrs() waBinary.Attrs {
	a := waBinary.Attrs{"reason": strconv.Itoa(r.reason), "location": "test"}
	if r.code != 0 {
		a["code"], a["expire"] = strconv.Itoa(r.code), strconv.Itoa(r.expire)
	}
	return a
}
