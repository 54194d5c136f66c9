package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/parley-bot/parley/internal/llm"
)

// Generate makes one call. See llm.Provider.
func (p *Provider) Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error) {
	body, err := p.encode(req, onText != nil)
	if err != nil {
		return llm.Response{}, p.Caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	var resp llm.Response
	err = p.Caller.Do(ctx, llm.Exchange{
		URL: p.endpoint, Header: p.header(onText != nil), Body: body, Refused: p.refused,
		Read: func(r io.Reader) (err error) {
			resp, err = p.read(bufio.NewReader(r), onText)
			return err
		},
	})
	if err != nil {
		return llm.Response{}, err
	}
	resp.From = p.From()
	return resp, nil
}

func (p *Provider) header(stream bool) http.Header {
	h := http.Header{"Accept": {"application/json"}}
	if stream {
		h.Set("Accept", "text/event-stream")
	}
	if !p.Key().Empty() {
		if p.cfg.KeyHeader != "" {
			h.Set(p.cfg.KeyHeader, p.Key().Reveal())
		} else {
			h.Set("Authorization", "Bearer "+p.Key().Reveal())
		}
	}
	return h
}

// read takes the answer. A server that can't stream gives a whole one, known
// by its brace.
func (p *Provider) read(r *bufio.Reader, onText func(string)) (llm.Response, error) {
	if onText == nil || llm.StartsWithBrace(r) {
		return p.readWhole(r, onText)
	}
	return p.readStream(r, onText)
}

func (p *Provider) readWhole(r io.Reader, onText func(string)) (llm.Response, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return llm.Response{}, err
	}
	var wire wireAnswer
	if err := json.Unmarshal(body, &wire); err != nil {
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", err.Error())
	}
	if broken(wire.Error) && len(wire.Choices) == 0 {
		return llm.Response{}, p.refused(0, body)
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
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", "it holds no choice")
	case a.finish == "error": // OpenRouter, Mistral: the model behind it failed
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", "finish_reason is error")
	case a.finish == "insufficient_system_resource": // DeepSeek: cut for want of machines
		return llm.Response{}, p.Caller.Fail(llm.Overloaded, 0, "reading the answer", "finish_reason is insufficient_system_resource")
	}
	return a.response()
}

func broken(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
