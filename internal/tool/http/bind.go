package httptool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// binding puts one fact of the channel under a name.
type binding struct {
	name, path string
	// needed is false for what is a courtesy only: a person's name.
	needed bool
	value  func(tool.Identity) string
}

func parseBind(bind map[string]string) ([]binding, error) {
	var out []binding
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(bind)) {
		b := binding{name: name, path: bind[name], needed: true}
		claim, isClaim := strings.CutPrefix(b.path, "user.claims.")
		switch {
		case name == "":
			errs = append(errs, errors.New("bind: a name is empty"))
		case slices.ContainsFunc(out, func(o binding) bool { return strings.EqualFold(o.name, name) }):
			errs = append(errs, fmt.Errorf("bind: %q is given twice, in different case", name))
		case b.path == "user.id":
			b.value = func(id tool.Identity) string { return id.UserID }
		case b.path == "user.name":
			b.needed = false
			b.value = func(id tool.Identity) string { return id.Name }
		case isClaim && claim != "":
			b.value = func(id tool.Identity) string { return id.Claims[claim] }
		case b.path == "chat.key":
			b.value = func(id tool.Identity) string { return id.ChatKey }
		case b.path == "channel":
			b.value = func(id tool.Identity) string { return id.Channel }
		default:
			errs = append(errs, fmt.Errorf("bind: %s: %q is none of user.id, user.name, user.claims.NAME, chat.key, channel", name, b.path))
		}
		if b.value != nil {
			out = append(out, b)
		}
	}
	return out, errors.Join(errs...)
}

// bound adds what is bound to the arguments. What the model wrote under such a
// name is dropped. missing is a fact that the channel doesn't vouch for: the
// request isn't made in nobody's name.
func bound(bindings []binding, args values, id tool.Identity) (all values, missing string) {
	all = args
	for _, b := range bindings {
		all = all.without(b.name)
	}
	for _, b := range bindings {
		v := b.value(id)
		if v == "" && b.needed {
			return nil, b.path
		}
		all = append(all, member{b.name, quote(v)})
	}
	return all, ""
}
