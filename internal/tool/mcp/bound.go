package mcptool

import (
	"context"
	"errors"
	"io"

	"golang.org/x/time/rate"
)

const (
	// maxMessage bounds one message of a server, in bytes (behaviour E5).
	maxMessage = 4 << 20
	// What a session may send in all is as much as it likes, at this pace:
	// it is slowed down, by not being read.
	bytesPerSecond = 1 << 20
	bytesAtOnce    = 16 << 20
	// A server that sends more messages than this unasked has lost its mind:
	// the session is ended.
	messagesPerSecond = 200
	messagesAtOnce    = 2000
)

var (
	errTooLarge = errors.New("a message of the server is over 4 MiB")
	errFlood    = errors.New("the server floods the session with messages")
)

// paced reads as fast as a session may send.
type paced struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // of the session: readers have none
	pace *rate.Limiter
}

func newPace() *rate.Limiter { return rate.NewLimiter(bytesPerSecond, bytesAtOnce) }

// Read implements io.Reader.
func (p paced) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 && err == nil {
		err = p.pace.WaitN(p.ctx, min(n, bytesAtOnce))
	}
	return n, err
}

// capped is a body of one message.
type capped struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (c *capped) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.ReadCloser.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}
