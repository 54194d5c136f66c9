package ollama

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// wireAnswer is a whole answer or one line of a stream.
type wireAnswer struct {
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string       `json:"id"`
			Function wireFunction `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Input      int             `json:"prompt_eval_count"`
	Output     int             `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

// answer gathers an answer, from a whole one or from the lines of a stream.
type answer struct {
	text, thinking strings.Builder
	calls          []llm.Call
	done           bool
	reason         string
	usage          llm.Usage
}

// add takes one line, and tells whether the text grew.
func (a *answer) add(w wireAnswer) (grew bool) {
	a.text.WriteString(w.Message.Content)
	a.thinking.WriteString(w.Message.Thinking)
	for _, c := range w.Message.ToolCalls {
		a.calls = append(a.calls, llm.Call{ID: c.ID, Name: c.Function.Name, Args: llm.ArgsText(c.Function.Arguments)})
	}
	if w.Done {
		a.done, a.reason = true, w.DoneReason
		a.usage = llm.Usage{Input: w.Input, Output: w.Output}
	}
	return w.Message.Content != ""
}

func (a *answer) response() llm.Response {
	llm.FillIDs(a.calls)
	out := llm.Response{Text: a.text.String(), Calls: a.calls, Usage: a.usage, Stop: stopOf(a.reason, len(a.calls) > 0)}
	if a.thinking.Len() > 0 {
		out.Opaque, _ = json.Marshal(opaque{a.thinking.String()}) // strings always marshal
	}
	return out
}

func stopOf(reason string, calls bool) llm.Stop {
	switch reason {
	case "stop", "": // servers before 0.1.34 give none
		if calls {
			return llm.StopCalls
		}
		return llm.StopEnd
	case "tool_calls": // servers that copy the API
		if calls {
			return llm.StopCalls
		}
		return llm.StopOther
	case "length":
		return llm.StopLength
	case "content_filter": // hosted models
		return llm.StopFilter
	default:
		return llm.StopOther
	}
}

// read takes the answer, whole or line by line. Only done proves that it is
// whole: a stream that ends without it was cut, even where it ends cleanly.
func (p *Provider) read(r *bufio.Reader, onText func(string)) (llm.Response, error) {
	if onText == nil {
		return p.readWhole(r)
	}
	var a answer
	for line, err := range llm.Lines(r) {
		if err != nil {
			return llm.Response{}, err
		}
		if err := p.take(&a, line, onText); err != nil {
			return llm.Response{}, err
		}
		if a.done {
			return a.response(), nil
		}
	}
	return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", io.ErrUnexpectedEOF.Error())
}

func (p *Provider) readWhole(r io.Reader) (llm.Response, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return llm.Response{}, err
	}
	var a answer
	if err := p.take(&a, body, nil); err != nil {
		return llm.Response{}, err
	}
	if !a.done {
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", "it isn't done")
	}
	return a.response(), nil
}

func (p *Provider) take(a *answer, raw []byte, onText func(string)) error {
	var wire wireAnswer
	if err := json.Unmarshal(raw, &wire); err != nil {
		return p.Caller.Fail(llm.Temporary, 0, "reading the answer", err.Error())
	}
	if len(wire.Error) > 0 && string(wire.Error) != "null" {
		return p.refused(0, raw)
	}
	if a.add(wire) && onText != nil {
		onText(a.text.String())
	}
	return nil
}
