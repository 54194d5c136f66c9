package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// Generate makes one call. See llm.Provider.
func (p *Provider) Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error) {
	body, err := p.encode(req, onText != nil)
	if err != nil {
		return llm.Response{}, p.fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	bounded, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	resp, err := p.exchange(bounded, body, onText)
	if err == nil {
		resp.From = p.cfg.Name + "/" + p.cfg.Model
		return resp, nil
	}
	if ctx.Err() != nil {
		e := p.fail(llm.Cancelled, 0, "calling the model", "the caller gave up")
		e.Err = fmt.Errorf("calling the model: %w", context.Cause(ctx))
		return llm.Response{}, e
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return llm.Response{}, e
	}
	return llm.Response{}, p.failTransport(bounded, err)
}

// failTransport tells of a call that broke. Of an *url.Error only the cause is
// told: the rest is the URL.
func (p *Provider) failTransport(ctx context.Context, err error) *llm.Error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if ne, ok := errors.AsType[net.Error](err); ctx.Err() != nil || ok && ne.Timeout() {
		return p.fail(llm.Timeout, 0, "calling the model", "no whole answer within "+p.cfg.Timeout.String())
	}
	return p.fail(llm.Temporary, 0, "calling the model", err.Error())
}

// exchange posts body and reads the answer.
func (p *Provider) exchange(ctx context.Context, body []byte, onText func(string)) (llm.Response, error) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return llm.Response{}, err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json")
	if onText != nil {
		post.Header.Set("Accept", "text/event-stream")
	}
	if !p.cfg.APIKey.Empty() {
		post.Header.Set("Authorization", "Bearer "+p.cfg.APIKey.Reveal())
	}
	resp, err := p.client.Do(post)
	if err != nil {
		return llm.Response{}, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or given up
	switch {
	case resp.StatusCode >= 400:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // half of it tells more than nothing
		e := p.failAPI(resp.StatusCode, said)
		e.After = llm.RetryAfter(resp.Header, time.Now())
		return llm.Response{}, e
	case resp.StatusCode != http.StatusOK:
		return llm.Response{}, p.fail(llm.BadRequest, resp.StatusCode, "calling the model",
			"a redirect or an empty answer; base_url may be wrong")
	}
	return p.read(llm.Capped(resp.Body, llm.MaxBody), onText)
}

// read takes the answer. A server that can't stream gives a whole one, known
// by its brace.
func (p *Provider) read(body io.Reader, onText func(string)) (llm.Response, error) {
	r := bufio.NewReader(body)
	if onText == nil || startsWithBrace(r) {
		return p.readWhole(r, onText)
	}
	return p.readStream(r, onText)
}

func startsWithBrace(r *bufio.Reader) bool {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return false
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			_ = r.UnreadByte() // always possible after ReadByte
			return b == '{'
		}
	}
}

func (p *Provider) readWhole(r io.Reader, onText func(string)) (llm.Response, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return llm.Response{}, err
	}
	var wire wireAnswer
	if err := json.Unmarshal(body, &wire); err != nil {
		return llm.Response{}, p.fail(llm.Temporary, 0, "reading the answer", err.Error())
	}
	if broken(wire.Error) && len(wire.Choices) == 0 {
		return llm.Response{}, p.failAPI(0, body)
	}
	var a answer
	if a.add(wire) && onText != nil {
		onText(a.content.String())
	}
	return p.finish(&a)
}

// finish checks that there is an answer.
func (p *Provider) finish(a *answer) (llm.Response, error) {
	switch {
	case !a.seen:
		return llm.Response{}, p.fail(llm.Temporary, 0, "reading the answer", "it holds no choice")
	case a.finish == "error": // OpenRouter: the model behind it failed
		return llm.Response{}, p.fail(llm.Temporary, 0, "reading the answer", "finish_reason is error")
	}
	return a.response()
}

func broken(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
