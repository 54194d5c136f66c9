package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/parley-bot/parley/channels"
)

// The gateway's operations
// (https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway).
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

const (
	// handshakeTime bounds each step until events come.
	handshakeTime = 20 * time.Second
	// closeCode leaves the session to be resumed; the usual ones, 1000 and
	// 1001, end it.
	closeCode = 4000
	// maxFrame bounds a frame: a server's list of channels is the largest.
	maxFrame = 64 << 20
)

// frame is one that is sent.
type frame struct {
	Op int `json:"op"`
	D  any `json:"d"`
}

// received is one that came.
type received struct {
	Op int             `json:"op"`
	D  json.RawMessage `json:"d"`
	S  int64           `json:"s"`
	T  string          `json:"t"`
}

// errReconnect is that Discord asked for another connection.
var errReconnect = errors.New("discord asked to connect anew")

// errSilent is that nothing comes any more.
var errSilent = errors.New("heartbeats are not acknowledged")

// invalidError is that a session isn't valid.
type invalidError struct{ resumable bool }

func (e *invalidError) Error() string {
	if e.resumable {
		return "discord says that the session has to be resumed"
	}
	return "discord says that the session is gone"
}

// socket is one connection.
type socket struct {
	*gateway
	conn *websocket.Conn

	writing sync.Mutex
	acked   atomic.Bool
	silent  atomic.Bool
	opened  bool
}

// connect makes a connection and reads it until it ends. opened is whether
// events came.
func (g *gateway) connect(ctx context.Context) (opened bool, err error) {
	id, url, seq := g.resume()
	if url, err = g.where(ctx, id, url); err != nil {
		return false, err
	}
	login, err := g.login(ctx, id, seq)
	if err != nil {
		return false, err
	}
	dial, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	conn, resp, err := g.dialer.DialContext(dial, url, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	switch {
	case err != nil && resp != nil:
		return false, fmt.Errorf("the gateway answered %d: %w", resp.StatusCode, g.rest.clean(err))
	case err != nil:
		return false, fmt.Errorf("gateway: %w", g.rest.clean(err))
	}
	conn.SetReadLimit(maxFrame)
	// Discord's close is answered by close, not with the code that came: 1000
	// from this side would end the session.
	conn.SetCloseHandler(func(int, string) error { return nil })
	s := &socket{gateway: g, conn: conn}
	s.acked.Store(true)
	// A connection is closed by whoever first finds that it has ended.
	unhook := context.AfterFunc(ctx, s.close)
	defer unhook()
	defer s.close()
	err = s.read(ctx, login)
	if s.silent.Load() {
		err = errSilent
	}
	return s.opened, err
}

// close leaves, in a way that the session can be resumed.
func (s *socket) close() {
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(closeCode, ""), time.Now().Add(time.Second))
	_ = s.conn.Close()
}

func (s *socket) send(f frame) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(handshakeTime)); err != nil {
		return err
	}
	return s.conn.WriteJSON(f)
}

// next reads a frame, which has to come within a time.
func (s *socket) next(within time.Duration) (received, error) {
	var f received
	if err := s.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return f, err
	}
	_, raw, err := s.conn.ReadMessage()
	if err != nil {
		return f, fmt.Errorf("gateway: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("frame of the gateway: %w", err)
	}
	return f, nil
}

// read says hello, logs in and takes what comes.
func (s *socket) read(ctx context.Context, login frame) error {
	f, err := s.next(s.handshake)
	if err != nil {
		return err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if f.Op != opHello || json.Unmarshal(f.D, &hello) != nil || hello.Interval <= 0 || hello.Interval > int64(time.Hour/time.Millisecond) {
		return fmt.Errorf("the gateway begins with operation %d and not with a hello", f.Op)
	}
	interval := time.Duration(hello.Interval) * time.Millisecond
	if err := s.send(login); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	var beats sync.WaitGroup
	defer beats.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beats.Go(func() { s.beat(ctx, interval) })
	for {
		within := max(2*interval, s.handshake)
		if !s.opened {
			within = s.handshake
		}
		f, err := s.next(within)
		if err != nil {
			return err
		}
		channels.Progressed(s.sink, 3*interval+slack)
		if err := s.take(ctx, f); err != nil {
			return err
		}
	}
}

func (s *socket) take(ctx context.Context, f received) error {
	switch f.Op {
	case opDispatch:
		if f.T == "READY" || f.T == "RESUMED" {
			s.opened = true
		}
		return s.dispatch(ctx, f.T, f.S, f.D)
	case opHeartbeat:
		return s.send(s.heartbeat())
	case opReconnect:
		return errReconnect
	case opInvalid:
		return &invalidError{string(f.D) == "true"}
	case opAck:
		s.acked.Store(true)
	}
	return nil
}

func (s *socket) heartbeat() frame {
	if _, _, seq := s.resume(); seq > 0 {
		return frame{Op: opHeartbeat, D: seq}
	}
	return frame{Op: opHeartbeat}
}

// beat sends heartbeats, the first after a part of the interval by chance, and
// closes a connection on which they aren't acknowledged: it looks well and
// brings nothing. While the core is so far behind that nothing is read, no
// acknowledgement can be seen either.
func (s *socket) beat(ctx context.Context, interval time.Duration) {
	pause := rand.N(interval)
	for channels.Rest(ctx, pause) == nil {
		pause = interval
		if !s.acked.Load() && !s.lanes.full() {
			s.silent.Store(true)
			s.close()
			return
		}
		s.acked.Store(false)
		if s.send(s.heartbeat()) != nil {
			s.close()
			return
		}
	}
}
