package openai

import (
	"encoding/json"
	"io"

	"github.com/parley-bot/parley/internal/llm"
)

// readStream takes an answer as server-sent events. Only finish_reason proves
// that it is whole: a stream that ends without one was cut, even where it ends
// cleanly or with [DONE]. Once it came, a lost connection costs nothing but the
// usage.
func (p *Provider) readStream(r io.Reader, onText func(string)) (llm.Response, error) {
	var a answer
	var lost error
	for data, err := range llm.EventData(r) {
		if err != nil {
			lost = err
			break
		}
		if string(data) == "[DONE]" {
			break
		}
		var wire wireAnswer
		if err := json.Unmarshal(data, &wire); err != nil {
			return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", err.Error())
		}
		if broken(wire.Error) {
			return llm.Response{}, p.refused(0, data)
		}
		if a.add(wire) {
			onText(a.content.String())
		}
	}
	switch {
	case a.finish != "":
		return p.finish(&a)
	case lost != nil:
		return llm.Response{}, lost
	}
	return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", io.ErrUnexpectedEOF.Error())
}
