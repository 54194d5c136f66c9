package httptool

import "github.com/parley-bot/parley/internal/tool"

// bound adds what is bound to the arguments. What the model wrote under such a
// name is dropped. missing is a fact that the channel doesn't vouch for: the
// request isn't made in nobody's name.
func bound(bindings tool.Bindings, args values, call tool.Call) (all values, missing string) {
	facts, missing := bindings.Values(call)
	if missing != "" {
		return nil, missing
	}
	all = args
	names := bindings.Names()
	for _, name := range names {
		all = all.without(name)
	}
	for i, name := range names {
		all = append(all, member{name, quote(facts[i])})
	}
	return all, ""
}
