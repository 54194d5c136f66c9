package anthropic

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// wireAnswer is a whole answer, and the message of message_start.
type wireAnswer struct {
	Type       string          `json:"type"`
	Content    []wireBlock     `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      wireUsage       `json:"usage"`
	Error      json.RawMessage `json:"error"`
}

type wireUsage struct {
	Input         int `json:"input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	Output        int `json:"output_tokens"`
}

// wireEvent is one event of a stream.
type wireEvent struct {
	Type    string     `json:"type"`
	Message wireAnswer `json:"message"`
	Index   int        `json:"index"`
	Block   wireBlock  `json:"content_block"`
	Delta   wireDelta  `json:"delta"`
	Usage   wireUsage  `json:"usage"`
}

type wireDelta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	PartialJSON string `json:"partial_json"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	StopReason  string `json:"stop_reason"`
}

// wireBlock is a block of content. The fields in use depend on the type.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`

	index   int
	partial strings.Builder
	think   strings.Builder
}

// kept is a block that the API wants back: its thinking, or what it hid of it.
type kept struct {
	Type      string  `json:"type"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
}

// answer gathers an answer, from a whole one or from the events of a stream.
type answer struct {
	blocks []*wireBlock
	text   strings.Builder
	stop   string
	usage  llm.Usage
	seen   bool // there was a message
}

func (a *answer) count(u wireUsage) {
	if in := u.Input + u.CacheRead + u.CacheCreation; in > 0 {
		a.usage.Input = in
	}
	if u.Output > 0 {
		a.usage.Output = u.Output
	}
}

// start takes a block, or the beginning of one.
func (a *answer) start(index int, b *wireBlock) {
	b.index = index
	b.think.WriteString(b.Thinking)
	if b.Type == "text" {
		a.text.WriteString(b.Text)
	}
	a.blocks = append(a.blocks, b)
}

// add takes one event, and tells whether the text grew.
func (a *answer) add(e *wireEvent) (grew bool) {
	before := a.text.Len()
	switch e.Type {
	case "message_start":
		a.seen = true
		a.count(e.Message.Usage)
	case "content_block_start":
		a.start(e.Index, &e.Block)
	case "content_block_delta":
		a.delta(e.Index, e.Delta)
	case "message_delta":
		a.stop = cmp.Or(e.Delta.StopReason, a.stop)
		a.count(e.Usage)
	default: // ping, content_block_stop, message_stop, and what is new
	}
	return a.text.Len() > before
}

func (a *answer) delta(index int, d wireDelta) {
	// Pieces come in order; the block is nearly always the last.
	var b *wireBlock
	for _, other := range slices.Backward(a.blocks) {
		if other.index == index {
			b = other
			break
		}
	}
	if b == nil {
		return
	}
	switch d.Type {
	case "text_delta":
		a.text.WriteString(d.Text)
	case "input_json_delta":
		b.partial.WriteString(d.PartialJSON)
	case "thinking_delta":
		b.think.WriteString(d.Thinking)
	case "signature_delta":
		b.Signature += d.Signature
	default: // citations
	}
}

// response is what the contract wants of it.
func (a *answer) response() llm.Response {
	out := llm.Response{Text: a.text.String(), Usage: a.usage}
	var thinking []kept
	for _, b := range a.blocks {
		switch b.Type {
		case "tool_use":
			// Streams begin a call with an empty object.
			args := b.partial.String()
			if args == "" {
				args = llm.ArgsText(b.Input)
			}
			out.Calls = append(out.Calls, llm.Call{ID: b.ID, Name: b.Name, Args: args})
		case "thinking":
			thought := b.think.String()
			thinking = append(thinking, kept{Type: b.Type, Thinking: &thought, Signature: b.Signature})
		case "redacted_thinking":
			thinking = append(thinking, kept{Type: b.Type, Data: b.Data})
		default: // text is gathered already
		}
	}
	llm.FillIDs(out.Calls)
	if thinking != nil {
		out.Opaque, _ = json.Marshal(thinking) // strings always marshal
	}
	out.Stop = stopOf(a.stop, len(out.Calls) > 0)
	return out
}

func stopOf(reason string, calls bool) llm.Stop {
	switch reason {
	case "end_turn", "stop_sequence", "tool_use":
		switch {
		case calls:
			return llm.StopCalls
		case reason != "tool_use":
			return llm.StopEnd
		}
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopLength
	case "refusal":
		return llm.StopFilter
	}
	return llm.StopOther
}

// read takes the answer. A server that can't stream gives a whole one.
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
	switch {
	case wire.Type == "error":
		return llm.Response{}, p.refused(0, body)
	case wire.Content == nil && wire.StopReason == "":
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", "it holds no message")
	}
	a := answer{stop: wire.StopReason}
	a.count(wire.Usage)
	for i := range wire.Content {
		a.start(i, &wire.Content[i])
	}
	if onText != nil && a.text.Len() > 0 {
		onText(a.text.String())
	}
	return a.response(), nil
}

// readStream takes an answer as server-sent events. Only stop_reason proves
// that it is whole: a stream that ends without one was cut, even where it ends
// cleanly. Once it came, a lost connection costs nothing.
func (p *Provider) readStream(r io.Reader, onText func(string)) (llm.Response, error) {
	var a answer
	var broken error
	for data, err := range llm.EventData(r) {
		if err != nil {
			broken = err
			break
		}
		e := new(wireEvent)
		if err := json.Unmarshal(data, e); err != nil {
			return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", err.Error())
		}
		if e.Type == "error" {
			return llm.Response{}, p.refused(0, data)
		}
		if a.add(e) {
			onText(a.text.String())
		}
	}
	switch {
	case a.seen && a.stop != "":
		return a.response(), nil
	case broken != nil:
		return llm.Response{}, broken
	}
	return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", io.ErrUnexpectedEOF.Error())
}
