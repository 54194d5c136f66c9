package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/parley-bot/parley/internal/llm"
)

// wireAnswer is a whole answer or one event of a stream. Fields that servers
// give in several forms stay raw until they are read, so that one odd field
// never costs the answer.
type wireAnswer struct {
	Choices []wireChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireChoice struct {
	Message      wirePart        `json:"message"`
	Delta        wirePart        `json:"delta"`
	FinishReason json.RawMessage `json:"finish_reason"`
}

type wirePart struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     *rawFunction    `json:"function_call"` // before there were tool_calls
}

type rawCall struct {
	Index        json.RawMessage `json:"index"`
	ID           json.RawMessage `json:"id"`
	Function     rawFunction     `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

type rawFunction struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// text reads a string, the text parts of a list, or the JSON of anything else.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			if p.Type == "text" {
				s += p.Text
			}
		}
		return s
	}
	return string(raw)
}

// answer gathers an answer, from one part or from the parts of a stream.
type answer struct {
	content, refusal, reasoning strings.Builder
	details                     []json.RawMessage
	calls                       []*callParts
	byIndex                     map[string]*callParts
	finish                      string
	usage                       llm.Usage
	seen                        bool // there was a choice
}

type callParts struct {
	id, name string
	args     strings.Builder
	extra    json.RawMessage
}

// add takes one event, and tells whether the text grew.
func (a *answer) add(w wireAnswer) (grew bool) {
	var usage sdk.Usage
	if len(w.Usage) > 0 && json.Unmarshal(w.Usage, &usage) == nil && usage.PromptTokens+usage.CompletionTokens > 0 {
		a.usage = llm.Usage{Input: usage.PromptTokens, Output: usage.CompletionTokens}
	}
	if len(w.Choices) == 0 {
		return false
	}
	a.seen = true
	c := w.Choices[0] // one is all that is asked for
	before := a.content.Len()
	a.addPart(c.Message)
	a.addPart(c.Delta)
	if f := text(c.FinishReason); f != "" {
		a.finish = f
	}
	return a.content.Len() > before
}

func (a *answer) addPart(p wirePart) {
	a.content.WriteString(text(p.Content))
	a.refusal.WriteString(text(p.Refusal))
	a.reasoning.WriteString(text(p.ReasoningContent))
	var details []json.RawMessage
	if len(p.ReasoningDetails) > 0 && json.Unmarshal(p.ReasoningDetails, &details) == nil {
		a.details = append(a.details, details...)
	}
	var calls []rawCall
	if len(p.ToolCalls) > 0 && json.Unmarshal(p.ToolCalls, &calls) == nil {
		for _, c := range calls {
			a.addCall(c)
		}
	}
	if p.FunctionCall != nil {
		a.addCall(rawCall{Index: json.RawMessage(`"function_call"`), Function: *p.FunctionCall})
	}
}

// addCall takes a call, or a further piece of one. Pieces belong together by
// their index; some servers give every call index 0, or none, so a name beside
// another id starts a new call too, and a piece with neither goes on with the
// last.
func (a *answer) addCall(c rawCall) {
	index, id, name := string(c.Index), text(c.ID), text(c.Function.Name)
	var call *callParts
	if index == "" || index == "null" {
		index = ""
		if len(a.calls) > 0 && name == "" {
			call = a.calls[len(a.calls)-1]
		}
	} else {
		call = a.byIndex[index]
	}
	if call == nil || name != "" && id != "" && call.id != "" && id != call.id {
		call = &callParts{id: id, name: name}
		a.calls = append(a.calls, call)
		if a.byIndex == nil {
			a.byIndex = map[string]*callParts{}
		}
		if index != "" {
			a.byIndex[index] = call
		}
	}
	if call.id == "" {
		call.id = id
	}
	if call.name == "" {
		call.name = name
	}
	call.args.WriteString(text(c.Function.Arguments))
	if len(c.ExtraContent) > 0 && string(c.ExtraContent) != "null" {
		call.extra = c.ExtraContent
	}
}

// Finish reasons of servers that copy the API.
const (
	finishEOS    sdk.FinishReason = "eos"          // Together: stop
	finishWindow sdk.FinishReason = "model_length" // Mistral: the window is full
)

// response is what the contract wants of it.
func (a *answer) response() (llm.Response, error) {
	out := llm.Response{Text: a.content.String(), Usage: a.usage}
	for _, c := range a.calls {
		out.Calls = append(out.Calls, llm.Call{ID: c.id, Name: c.name, Args: c.args.String(), Opaque: c.extra})
	}
	llm.FillIDs(out.Calls)
	if kept := (opaque{a.reasoning.String(), a.details}); !kept.empty() {
		raw, err := json.Marshal(kept)
		if err != nil {
			return llm.Response{}, fmt.Errorf("keeping the reasoning: %w", err)
		}
		out.Opaque = raw
	}
	switch finish := sdk.FinishReason(a.finish); finish {
	case sdk.FinishReasonStop, sdk.FinishReasonToolCalls, sdk.FinishReasonFunctionCall, finishEOS:
		// Servers disagree on the reason beside calls; the calls decide.
		switch {
		case len(out.Calls) > 0:
			out.Stop = llm.StopCalls
		case finish == sdk.FinishReasonStop, finish == finishEOS:
			out.Stop = llm.StopEnd
		default:
			out.Stop = llm.StopOther
		}
	case sdk.FinishReasonLength, finishWindow:
		out.Stop = llm.StopLength
	case sdk.FinishReasonContentFilter:
		out.Stop = llm.StopFilter
	default:
		out.Stop = llm.StopOther
	}
	if refusal := a.refusal.String(); refusal != "" {
		out.Stop = llm.StopFilter
		if out.Text == "" {
			out.Text = refusal
		}
	}
	return out, nil
}
