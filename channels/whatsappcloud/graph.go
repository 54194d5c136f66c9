package whatsappcloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/parley-bot/parley/channels"
)

// answerMax bounds what is read of an answer.
const answerMax = 1 << 20

// graph makes calls of the Graph API.
type graph struct {
	http    *http.Client
	base    string // with the version, without a slash behind
	token   string
	secrets []string
}

func newGraph(cfg Config) *graph {
	g := &graph{
		// There is no timeout but the caller's context.
		http: &http.Client{
			Transport:     channels.NewTransport(32),
			CheckRedirect: channels.NoRedirect,
		},
		base:  strings.TrimRight(cfg.APIURL, "/") + "/" + cfg.APIVersion,
		token: cfg.AccessToken.Reveal(),
	}
	for _, s := range []string{cfg.AccessToken.Reveal(), cfg.AppSecret.Reveal(), cfg.VerifyToken.Reveal()} {
		if s != "" {
			g.secrets = append(g.secrets, s)
		}
	}
	return g
}

// call makes one call; in is sent as JSON where it isn't nil, and the answer
// is decoded into out. Errors are *channels.SendError.
func (g *graph) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return &channels.SendError{Class: channels.PermanentMessage, Err: fmt.Errorf("encoding request: %w", err)}
		}
		body = bytes.NewReader(b)
	}
	ctx, left := channels.Leaving(ctx)
	req, err := http.NewRequestWithContext(ctx, method, g.base+path, body)
	if err != nil {
		return &channels.SendError{Class: channels.PermanentMessage, Err: errors.New("the request's address is invalid")}
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := g.http.Do(req)
	if err != nil {
		return g.lost(left.Load(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return g.failure(resp, text)
	}
	if err != nil {
		return g.lost(true, err)
	}
	if json.Unmarshal(text, out) != nil {
		return &channels.SendError{Class: channels.Unknown, Err: fmt.Errorf("status %d with an answer that makes no sense", resp.StatusCode)}
	}
	return nil
}

// lost is a call without an answer. The address is left out: its path names the
// account.
func (g *graph) lost(left bool, err error) *channels.SendError {
	e := &channels.LostError{API: "whatsapp", Sent: left, Err: channels.Scrub(err, g.secrets...)}
	return &channels.SendError{Class: e.Class(), Err: e}
}

func (g *graph) failure(resp *http.Response, text []byte) *channels.SendError {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	e := apiError{Message: fmt.Sprintf("status %d without an error code", resp.StatusCode)}
	if json.Unmarshal(text, &answer) == nil && len(answer.Error) > 0 {
		e = readError(answer.Error)
	}
	return g.refusal(resp.StatusCode, channels.RetryAfter(resp.Header), e)
}
