package script

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/llm"
)

func (c *compiler) rule(r ruleDoc) rule {
	out := rule{line: r.line, when: c.conditions(r.When), delay: c.duration(r.Delay, "delay"), pace: c.duration(r.Pace, "pace"), fail: c.failure(r)}
	n := c.names
	n.groups = out.when.groupNames()
	out.when.has, out.when.lacks = c.refs(r.When.Has, n), c.refs(r.When.Lacks, n)
	if out.when.last == anybody && !r.When.Last.set && slices.ContainsFunc(slices.Concat(out.when.has, out.when.lacks), isExtractor) {
		out.when.last = person
	}
	out.say = c.texts(r.Say, n)
	if r.Call != nil {
		out.calls = append(out.calls, c.call(*r.Call, r, n))
	}
	for _, d := range r.Calls {
		out.calls = append(out.calls, c.call(d, r, n))
	}
	if r.Stop.set {
		switch stop := llm.Stop(r.Stop.text); stop {
		case llm.StopLength, llm.StopFilter, llm.StopOther:
			out.stop = stop
		default:
			c.fail(r.Stop.errorf("stop: %q is not length, filter or other", r.Stop.text))
		}
	}
	speaks := r.Say.set() || len(out.calls) > 0 || r.Stop.set
	out.answer = speaks || out.fail != nil
	switch {
	case r.Call != nil && len(r.Calls) > 0:
		c.fail(r.errorf("call and calls: only one of them"))
	case out.fail != nil && speaks:
		c.fail(r.errorf("error stands without say, call, calls and stop"))
	case r.After.set && out.fail == nil:
		c.fail(r.After.errorf("after goes with error"))
	case r.Pace.set && !r.Say.set():
		c.fail(r.Pace.errorf("pace goes with say"))
	case !out.answer && !r.Delay.set:
		c.fail(r.errorf("a rule needs say, call, calls, stop, error or delay"))
	}
	return out
}

func isExtractor(r ref) bool { return r.root == rootExtractor }

func (c *compiler) conditions(w whenDoc) conditions {
	out := conditions{
		text: c.pattern(w.Text), allText: c.pattern(w.AllText), assistant: c.pattern(w.Assistant),
		system: c.pattern(w.System), result: c.pattern(w.Result), tool: w.Tool.text, failed: w.Failed, lang: w.Lang.text,
	}
	switch w.Last.text {
	case "user":
		out.last = user
	case "reply":
		out.last = reply
	case "tool":
		out.last = tool
	case "any":
	case "":
		switch {
		case w.Tool.set || w.Result.set || w.Failed != nil:
			out.last = tool
		case w.Text.set || w.AllText.set:
			out.last = person
		}
	default:
		c.fail(w.Last.errorf("last: %q is not user, reply, tool or any", w.Last.text))
	}
	if w.Lang.set && !slices.Contains(c.langs, w.Lang.text) {
		c.fail(w.Lang.errorf("languages: none is called %q", w.Lang.text))
	}
	return out
}

func (c *compiler) call(d callDoc, r ruleDoc, n names) call {
	out := call{tool: d.Tool.text}
	if d.Tool.text == "" {
		c.fail(r.errorf("call: tool is missing"))
	}
	switch node := &d.Args; {
	case node.IsZero() || node.ShortTag() == "!!null":
	case resolved(node).Kind == yaml.ScalarNode:
		t, err := c.parse(resolved(node).Value, n)
		if err != nil {
			c.fail(at(node).errorf("args: %w", err))
		}
		out.raw = &t
	default:
		budget := 10_000
		a, err := c.argument(node, n, &budget, 0)
		c.fail(err)
		out.args = &a
	}
	return out
}

// resolved follows aliases. They can't run in circles: an alias stands for an
// anchor before it.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// argument compiles a value of args. The order of keys is kept, since people
// see it. budget and depth bound what aliases may unfold to.
func (c *compiler) argument(n *yaml.Node, names names, budget *int, depth int) (argument, error) {
	place := at(n)
	n = resolved(n)
	if *budget--; *budget < 0 || depth > 50 {
		return argument{}, place.errorf("args: too large")
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out := argument{isArray: true}
		for _, child := range n.Content {
			a, err := c.argument(child, names, budget, depth+1)
			if err != nil {
				return out, err
			}
			out.array = append(out.array, a)
		}
		return out, nil
	case yaml.MappingNode:
		out := argument{isObject: true}
		return out, c.members(&out, n, names, budget, depth)
	default:
		return c.scalarArgument(n, names)
	}
}

// members adds the keys of a mapping, and after them those of a merge key that
// aren't there yet.
func (c *compiler) members(out *argument, n *yaml.Node, names names, budget *int, depth int) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			if merged = []*yaml.Node{value}; resolved(value).Kind == yaml.SequenceNode {
				merged = resolved(value).Content
			}
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return at(key).errorf("args: a key is a text")
		}
		name := quote(key.Value)
		if slices.ContainsFunc(out.object, func(m member) bool { return string(m.key) == string(name) }) {
			continue // over what is merged in
		}
		a, err := c.argument(value, names, budget, depth+1)
		if err != nil {
			return err
		}
		out.object = append(out.object, member{key.Value, name, a})
	}
	for _, m := range merged {
		if resolved(m).Kind != yaml.MappingNode || depth > 50 {
			return at(m).errorf("args: only a mapping can be merged in")
		}
		if err := c.members(out, resolved(m), names, budget, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) scalarArgument(n *yaml.Node, names names) (argument, error) {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		if raw := []byte(n.Value); json.Valid(raw) {
			return argument{literal: raw}, nil // as written: long integers too
		}
		var v any
		if err := n.Load(&v); err != nil {
			return argument{}, at(n).errorf("args: %w", err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return argument{}, at(n).errorf("args: %s is no JSON value", n.Value)
		}
		return argument{literal: raw}, nil
	default:
		t, err := c.parse(n.Value, names)
		if err != nil {
			return argument{}, at(n).errorf("args: %w", err)
		}
		return argument{text: &t}, nil
	}
}

// where names a rule in an error.
func (r *rules) where(one *rule) string { return fmt.Sprintf("%s:%d", r.file, one.line) }
