package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/parley-bot/parley/channels"
)

// callTime bounds one call.
const callTime = 30 * time.Second

// ErrNobody says that no daemon listens.
var ErrNobody = errors.New("no daemon listens")

// Client are the operations of a running daemon.
type Client struct{ http *http.Client }

var _ Operations = (*Client)(nil)

// Dial reaches the daemon that has a database. The error is ErrNobody where
// there is none.
func Dial(ctx context.Context, database string) (*Client, error) {
	path := Path(database)
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
	c, err := dial(ctx)
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EINVAL):
		return nil, ErrNobody
	case err != nil:
		return nil, fmt.Errorf("reaching the daemon by %s: %w", path, err)
	}
	if err := c.Close(); err != nil {
		return nil, fmt.Errorf("reaching the daemon by %s: %w", path, err)
	}
	return &Client{&http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }},
	}}, nil
}

// Approve implements Operations.
func (c *Client) Approve(ctx context.Context, code string) (channel string, user channels.UserID, found bool, err error) {
	a, err := post(ctx, c, approvePath, approval{Code: code})
	return a.Channel, a.User, a.Found, err
}

// PutOut implements Operations.
func (c *Client) PutOut(ctx context.Context, channel string, user channels.UserID) (found bool, err error) {
	a, err := post(ctx, c, putOutPath, approval{Channel: channel, User: user})
	return a.Found, err
}

// ForgetChat implements Operations.
func (c *Client) ForgetChat(ctx context.Context, chat string) (known bool, err error) {
	o, err := post(ctx, c, forgetPath, oblivion{Chat: chat})
	return o.Known, err
}

func post[T any](ctx context.Context, c *Client, path string, in T) (out T, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+path, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return out, fmt.Errorf("asking the daemon: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return out, fmt.Errorf("asking the daemon: %w", err)
	case resp.StatusCode != http.StatusOK:
		return out, fmt.Errorf("the daemon answered: %s", strings.TrimSpace(string(answer)))
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("the daemon's answer makes no sense: %w", err)
	}
	return out, nil
}
