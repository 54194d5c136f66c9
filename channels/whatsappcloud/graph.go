package whatsappcloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute,
				ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			},
			// A redirect would carry the token elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
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
	// Whether anything of the request may have left decides what is known
	// when the answer is missing.
	var left atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), method, g.base+path, body)
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
		return lost(left.Load(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return g.failure(resp, text)
	}
	if err != nil {
		return lost(true, err)
	}
	if json.Unmarshal(text, out) != nil {
		return &channels.SendError{Class: channels.Unknown, Err: fmt.Errorf("status %d with an answer that makes no sense", resp.StatusCode)}
	}
	return nil
}

// lost is a call without an answer.
func lost(left bool, err error) *channels.SendError {
	// The address is left out: its path names the account.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if left {
		return &channels.SendError{Class: channels.Unknown, Err: fmt.Errorf("no answer to a call: %w", err)}
	}
	return &channels.SendError{Class: channels.Temporary, Err: fmt.Errorf("reaching the API: %w", err)}
}

func (g *graph) failure(resp *http.Response, text []byte) *channels.SendError {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	e := apiError{Message: fmt.Sprintf("status %d without an error code", resp.StatusCode)}
	if json.Unmarshal(text, &answer) == nil && len(answer.Error) > 0 {
		e = readError(answer.Error)
	}
	return g.refusal(resp.StatusCode, retryAfter(resp.Header), e)
}

func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 24*60*60)) * time.Second
}
