package tool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bindings put facts that the channel vouches for under names of a tool's own
// (configuration: bind; behaviour E1).
type Bindings []binding

type binding struct {
	name, path string
	// needed is false for what is a courtesy only: a person's name.
	needed bool
	value  func(Call) string
}

// BindPaths are what can be bound, as the configuration writes it.
func BindPaths() []string {
	return []string{"user.id", "user.name", "user.claims.NAME", "chat.key", "channel", "call.id"}
}

// ParseBindings reads name → path. What is wrong is in the one error.
func ParseBindings(bind map[string]string) (Bindings, error) {
	var out Bindings
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
			b.value = func(c Call) string { return c.Identity.UserID }
		case b.path == "user.name":
			b.needed = false
			b.value = func(c Call) string { return c.Identity.Name }
		case isClaim && claim != "":
			b.value = func(c Call) string { return c.Identity.Claims[claim] }
		case b.path == "chat.key":
			b.value = func(c Call) string { return c.Identity.ChatKey }
		case b.path == "channel":
			b.value = func(c Call) string { return c.Identity.Channel }
		case b.path == "call.id":
			b.value = func(c Call) string { return c.ID }
		default:
			errs = append(errs, fmt.Errorf("bind: %s: %q is none of %s", name, b.path, strings.Join(BindPaths(), ", ")))
		}
		if b.value != nil {
			out = append(out, b)
		}
	}
	return out, errors.Join(errs...)
}

// Names are the bound names, sorted.
func (bs Bindings) Names() []string {
	out := make([]string, len(bs))
	for i, b := range bs {
		out[i] = b.name
	}
	return out
}

// Values are the facts of a call, in the order of Names. missing is one that
// the channel doesn't vouch for: the call must not be made in nobody's name.
func (bs Bindings) Values(c Call) (values []string, missing string) {
	for _, b := range bs {
		v := b.value(c)
		if v == "" && b.needed {
			return nil, b.path
		}
		values = append(values, v)
	}
	return values, ""
}

// CheckBindings compares bound names with the arguments in a schema: one that
// a model could write is the server's no more.
func CheckBindings(bs Bindings, args []string) error {
	var errs []error
	for _, name := range bs.Names() {
		if slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, name) }) {
			errs = append(errs, fmt.Errorf("bind: %q is an argument in the schema; a bound name is the server's: take it out of the schema", name))
		}
	}
	return errors.Join(errs...)
}

// IdentityMissing is the failed result of a call that can't be bound.
func IdentityMissing(missing string) Result {
	return Fail("identity_missing", map[string]any{
		"message": "The channel doesn't vouch for who this person is, so nothing was done.", "missing": missing,
	})
}
