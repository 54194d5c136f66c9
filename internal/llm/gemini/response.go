package gemini

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// wireAnswer is a whole answer or one event of a stream.
type wireAnswer struct {
	Candidates []candidate     `json:"candidates"`
	Feedback   feedback        `json:"promptFeedback"`
	Usage      usage           `json:"usageMetadata"`
	Error      json.RawMessage `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []wirePart `json:"parts"`
	} `json:"content"`
	FinishReason string `json:"finishReason"`
}

type feedback struct {
	BlockReason string `json:"blockReason"`
}

type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
}

type wirePart struct {
	Text      string        `json:"text"`
	Thought   bool          `json:"thought"`
	Signature string        `json:"thoughtSignature"`
	Call      *functionCall `json:"functionCall"`
}

// answer gathers an answer, from a whole one or from the events of a stream.
type answer struct {
	text      strings.Builder
	signature string // of the text
	calls     []llm.Call
	finish    string
	blocked   string
	usage     llm.Usage
	seen      bool // there was a candidate
}

// add takes one event, and tells whether the text grew.
func (a *answer) add(w wireAnswer) (grew bool) {
	if u := w.Usage; u.Prompt > 0 || u.Candidates > 0 {
		a.usage = llm.Usage{Input: u.Prompt, Output: u.Candidates + u.Thoughts}
	}
	if w.Feedback.BlockReason != "" {
		a.blocked = w.Feedback.BlockReason
	}
	if len(w.Candidates) == 0 {
		return false
	}
	a.seen = true
	c := w.Candidates[0] // one is all that is asked for
	before := a.text.Len()
	for _, part := range c.Content.Parts {
		switch {
		case part.Call != nil:
			call := llm.Call{ID: part.Call.ID, Name: part.Call.Name, Args: llm.ArgsText(part.Call.Args), Opaque: keep(part.Signature)}
			a.calls = append(a.calls, call)
		case part.Thought: // a summary for people
		default:
			a.text.WriteString(part.Text)
			if part.Signature != "" {
				a.signature = part.Signature
			}
		}
	}
	if c.FinishReason != "" {
		a.finish = c.FinishReason
	}
	return a.text.Len() > before
}

func keep(signature string) json.RawMessage {
	if signature == "" {
		return nil
	}
	raw, _ := json.Marshal(opaque{signature}) // strings always marshal
	return raw
}

// finished checks that there is an answer, and translates it.
func (p *Provider) finished(a *answer) (llm.Response, error) {
	empty := a.text.Len() == 0 && len(a.calls) == 0
	switch {
	case empty && a.blocked != "":
		return llm.Response{}, p.Caller.Fail(llm.Filtered, 0, "the request was blocked", a.blocked)
	case !a.seen:
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", "it holds no candidate")
	case empty && (a.finish == "MALFORMED_FUNCTION_CALL" || a.finish == "UNEXPECTED_TOOL_CALL"):
		// It wrote a call that nobody can read; asked again, it may do better.
		return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the answer", "finishReason is "+a.finish)
	}
	llm.FillIDs(a.calls)
	return llm.Response{
		Text: a.text.String(), Calls: a.calls, Usage: a.usage, Opaque: keep(a.signature), Stop: stopOf(a.finish, len(a.calls) > 0),
	}, nil
}

func stopOf(reason string, calls bool) llm.Stop {
	switch reason {
	case "STOP":
		if calls {
			return llm.StopCalls
		}
		return llm.StopEnd
	case "MAX_TOKENS":
		return llm.StopLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII":
		return llm.StopFilter
	default:
		return llm.StopOther
	}
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
	if broken(wire) {
		return llm.Response{}, p.refused(0, body)
	}
	var a answer
	if a.add(wire) && onText != nil {
		onText(a.text.String())
	}
	return p.finished(&a)
}

func broken(w wireAnswer) bool {
	return len(w.Error) > 0 && string(w.Error) != "null" && len(w.Candidates) == 0
}

// readStream takes an answer as server-sent events. Only finishReason, or the
// reason of a block, proves that it is whole: a stream that ends without one
// was cut, even where it ends cleanly.
func (p *Provider) readStream(r io.Reader, onText func(string)) (llm.Response, error) {
	var a answer
	var lost error
	for data, err := range llm.EventData(r) {
		if err != nil {
			lost = err
			break
		}
		var wire wireAnswer
		if err := json.Unmarshal(data, &wire); err != nil {
			return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", err.Error())
		}
		if broken(wire) {
			return llm.Response{}, p.refused(0, data)
		}
		if a.add(wire) {
			onText(a.text.String())
		}
	}
	switch {
	case a.finish != "" || a.blocked != "":
		return p.finished(&a)
	case lost != nil:
		return llm.Response{}, lost
	}
	return llm.Response{}, p.Caller.Fail(llm.Temporary, 0, "reading the stream", io.ErrUnexpectedEOF.Error())
}
