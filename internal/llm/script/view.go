package script

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// view is what rules see of one request. What costs something is worked out
// when first asked for.
type view struct {
	rules *rules
	req   *llm.Request
	// from is where this turn begins in req.Messages.
	from  int
	last  llm.Role // of the last message
	reply *llm.Result

	saidText, allText, assistantText, systemText *folded
	values                                       []json.RawMessage
	read                                         []bool
	langKnown                                    bool
	language                                     string
}

func newView(r *rules, req *llm.Request) *view {
	v := &view{rules: r, req: req}
	m := req.Messages
	for v.from = len(m); v.from > 0; v.from-- {
		if before := m[v.from-1]; before.Role == llm.RoleAssistant && len(before.Calls) == 0 {
			break
		}
	}
	if len(m) > 0 {
		end := m[len(m)-1]
		v.last = end.Role
		if v.last == llm.RoleTool {
			v.reply, _ = replyIn(end)
		}
	}
	return v
}

// replyIn finds a person's reply to a question among results.
func replyIn(m llm.Message) (*llm.Result, string) {
	for i := len(m.Results) - 1; i >= 0; i-- {
		r := &m.Results[i]
		if !strings.Contains(r.Content, "user_replied") {
			continue
		}
		var told struct {
			Executed  *bool  `json:"executed"`
			Reason    string `json:"reason"`
			UserReply string `json:"userReply"`
		}
		if json.Unmarshal([]byte(r.Content), &told) == nil && told.Executed != nil && !*told.Executed && told.Reason == "user_replied" {
			return r, told.UserReply
		}
	}
	return nil, ""
}

// lines are what the person said from message index on, oldest first.
func (v *view) lines(from int) []string {
	var out []string
	for _, m := range v.req.Messages[from:] {
		switch m.Role {
		case llm.RoleUser:
			out = append(out, m.Text)
		case llm.RoleTool:
			if r, text := replyIn(m); r != nil {
				out = append(out, text)
			}
		case llm.RoleAssistant:
		}
	}
	return out
}

func once(cached **folded, text func() string) folded {
	if *cached == nil {
		f := fold(text())
		*cached = &f
	}
	return **cached
}

// said is what the person said last, also in an earlier turn.
func (v *view) said() folded {
	return once(&v.saidText, func() string {
		for _, m := range slices.Backward(v.req.Messages) {
			switch m.Role {
			case llm.RoleUser:
				return m.Text
			case llm.RoleTool:
				if r, text := replyIn(m); r != nil {
					return text
				}
			case llm.RoleAssistant:
			}
		}
		return ""
	})
}

func (v *view) all() folded {
	return once(&v.allText, func() string { return strings.Join(v.lines(v.from), "\n") })
}

func (v *view) assistant() folded {
	return once(&v.assistantText, func() string {
		for _, m := range slices.Backward(v.req.Messages) {
			if m.Role == llm.RoleAssistant && m.Text != "" {
				return m.Text
			}
		}
		return ""
	})
}

func (v *view) system() folded {
	return once(&v.systemText, func() string { return strings.Join(v.req.System, "\n\n") })
}

// lastResult is what a tool last returned in this turn.
func (v *view) lastResult(tool string) (json.RawMessage, bool) {
	for _, m := range slices.Backward(v.req.Messages[v.from:]) {
		for _, r := range slices.Backward(m.Results) {
			if r.Name == tool {
				return asJSON(r.Content), true
			}
		}
	}
	return nil, false
}

// lastArgs is what a tool was last called with in this turn.
func (v *view) lastArgs(tool string) (json.RawMessage, bool) {
	for _, m := range slices.Backward(v.req.Messages[v.from:]) {
		for _, c := range slices.Backward(m.Calls) {
			if c.Name == tool && json.Valid([]byte(c.Args)) {
				return json.RawMessage(c.Args), true
			}
		}
	}
	return nil, false
}

// extracted is an extractor's value; nil is none.
func (v *view) extracted(n int) json.RawMessage {
	if v.read == nil {
		v.read = make([]bool, len(v.rules.extractors))
		v.values = make([]json.RawMessage, len(v.rules.extractors))
	}
	if !v.read[n] {
		x := v.rules.extractors[n]
		text := v.said()
		if x.turn {
			text = v.all()
		}
		v.values[n], v.read[n] = x.read(text), true
	}
	return v.values[n]
}

// lang is the first language that fits; "" is none.
func (v *view) lang() string {
	if !v.langKnown {
		v.langKnown = true
		for _, l := range v.rules.languages {
			if l.text.fits(v.said) && l.allText.fits(v.all) && l.system.fits(v.system) {
				v.language = l.lang
				break
			}
		}
	}
	return v.language
}

// language is a condition for one.
type language struct {
	lang                  string
	text, allText, system *pattern
}

// fits tells whether a pattern, nil is none, matches.
func (p *pattern) fits(text func() folded) bool { return p == nil || p.match(text()) != nil }
