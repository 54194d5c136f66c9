package script

import (
	"strconv"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// rules is a whole script, ready to answer.
type rules struct {
	file       string
	list       []rule
	extractors []*extractor
	lists      []*list
	languages  []language
}

// rule is one answer and its conditions.
type rule struct {
	line int
	when conditions

	delay  time.Duration
	pace   time.Duration // of one word of say
	fail   *llm.Error    // without provider and cause
	say    texts         // nil: nothing
	calls  []call
	stop   llm.Stop // "": by what is said
	answer bool     // false: a delay alone
}

type call struct {
	tool string
	args *argument // nil: none
	raw  *template // args as text
}

// who is whose turn it is to have spoken.
type who int

const (
	anybody who = iota
	user
	reply
	person // user or reply
	tool
)

type conditions struct {
	last                                     who
	text, allText, assistant, system, result *pattern
	tool                                     string
	failed                                   *bool
	has, lacks                               []ref
	lang                                     string
}

// match is what a rule's conditions found.
type match struct {
	result *llm.Result
	groups []string // as names.groups numbers them
}

// find tries the conditions, cheap ones first.
func (c *conditions) find(v *view) (m match, ok bool) {
	switch isUser := v.last == llm.RoleUser; {
	case c.last == user && !isUser, c.last == reply && v.reply == nil,
		c.last == person && !isUser && v.reply == nil, c.last == tool && v.last != llm.RoleTool:
		return m, false
	}
	if m.result, ok = c.findResult(v); !ok {
		return m, false
	}
	if c.lang != "" && v.lang() != c.lang {
		return m, false
	}
	// The order is that of the groups' numbers; see groupNames.
	for _, p := range []struct {
		*pattern
		in func() folded
	}{{c.text, v.said}, {c.allText, v.all}, {c.result, m.text}, {c.assistant, v.assistant}, {c.system, v.system}} {
		if p.pattern == nil {
			continue
		}
		groups := p.match(p.in())
		if groups == nil {
			return m, false
		}
		m.groups = append(m.groups, groups...)
	}
	s := scope{view: v, match: m}
	for _, r := range c.has {
		if raw, ok, err := s.value(r); err != nil || !ok || empty(raw) {
			return m, false
		}
	}
	for _, r := range c.lacks {
		if raw, ok, err := s.value(r); err == nil && ok && !empty(raw) {
			return m, false
		}
	}
	return m, true
}

func (m match) text() folded { return fold(m.result.Content) }

// findResult picks the result that the rule is about.
func (c *conditions) findResult(v *view) (*llm.Result, bool) {
	wanted := c.tool != "" || c.result != nil || c.failed != nil
	if v.last != llm.RoleTool {
		return nil, !wanted
	}
	if c.last == reply && !wanted {
		return v.reply, true
	}
	results := v.req.Messages[len(v.req.Messages)-1].Results
	for i := len(results) - 1; i >= 0; i-- {
		r := &results[i]
		if (c.tool == "" || c.tool == r.Name) && (c.failed == nil || *c.failed == r.Failed) &&
			(c.result == nil || c.result.match(fold(r.Content)) != nil) {
			return r, true
		}
	}
	return nil, !wanted
}

// groupNames numbers the groups of all patterns as find collects them: {1} is
// the first group of the first pattern that has any.
func (c *conditions) groupNames() map[string]int {
	out := map[string]int{}
	offset, numbered := 0, false
	for _, p := range []*pattern{c.text, c.allText, c.result, c.assistant, c.system} {
		if p == nil {
			continue
		}
		for i, name := range p.names[1:] {
			if !numbered {
				out[strconv.Itoa(i+1)] = offset + i + 1
			}
			if name != "" {
				out[name] = offset + i + 1
			}
		}
		numbered = numbered || len(p.names) > 1
		offset += len(p.names)
	}
	return out
}
