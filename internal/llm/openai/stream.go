package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/parley-bot/parley/internal/llm"
)

// readStream takes an answer as server-sent events. Only finish_reason proves
// that it is whole: a stream that ends without one was cut, even where it ends
// cleanly or with [DONE]. Once it came, a lost connection costs nothing but the
// usage.
func (p *Provider) readStream(r *bufio.Reader, onText func(string)) (llm.Response, error) {
	var a answer
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 16<<10), llm.MaxBody)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(lines.Bytes()), []byte("data:"))
		if !ok { // comments that keep it alive, blank lines, event names
			continue
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			break
		}
		var wire wireAnswer
		if err := json.Unmarshal(data, &wire); err != nil {
			return llm.Response{}, p.fail(llm.Temporary, 0, "reading the stream", err.Error())
		}
		if broken(wire.Error) {
			return llm.Response{}, p.failAPI(0, data)
		}
		if a.add(wire) {
			onText(a.content.String())
		}
	}
	if a.finish != "" {
		return p.finish(&a)
	}
	if err := lines.Err(); err != nil {
		return llm.Response{}, err
	}
	return llm.Response{}, p.fail(llm.Temporary, 0, "reading the stream", io.ErrUnexpectedEOF.Error())
}
