package config

import (
	"reflect"
	"slices"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/secret"
)

// Changed lists the keys whose values differ between two configurations, as
// section.key, and whole sections where those have names of the operator's own
// (tools, channels.NAME, …). Where something is written doesn't matter, nor
// how a variable is replaced: a process keeps its environment.
func Changed(was, is *Config) []string {
	var out []string
	a, b := reflect.ValueOf(*was), reflect.ValueOf(*is)
	for _, r := range decode.RulesOf(a.Type()) {
		x, y := a.FieldByIndex(r.Index), b.FieldByIndex(r.Index)
		switch {
		case r.Name == "channels":
			out = append(out, changedChannels(was.Channels, is.Channels)...)
		case x.Kind() == reflect.Struct && r.Name != "mcp" && r.Name != "tools" && r.Name != "model":
			for _, s := range decode.RulesOf(x.Type()) {
				if !same(x.FieldByIndex(s.Index), y.FieldByIndex(s.Index)) {
					out = append(out, decode.Join(r.Name, s.Name))
				}
			}
		case !same(x, y):
			out = append(out, r.Name)
		}
	}
	return out
}

func changedChannels(was, is Channels) []string {
	find := func(list Channels, name string) *Channel {
		if i := slices.IndexFunc(list, func(c Channel) bool { return c.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	var out []string
	for _, c := range is {
		old := find(was, c.Name)
		if old == nil || old.Kind != c.Kind || !old.node.Equal(c.node) {
			out = append(out, "channels."+c.Name)
		}
	}
	for _, c := range was {
		if find(is, c.Name) == nil {
			out = append(out, "channels."+c.Name)
		}
	}
	return out
}

// same compares two values; places in a file don't count.
func same(x, y reflect.Value) bool {
	switch {
	case decode.Is[Pos](x.Type()):
		return true
	case decode.Is[Section](x.Type()):
		a, _ := reflect.TypeAssert[Section](x)
		b, _ := reflect.TypeAssert[Section](y)
		return a.node.Equal(b.node)
	case decode.Is[secret.String](x.Type()):
		a, _ := reflect.TypeAssert[secret.String](x)
		b, _ := reflect.TypeAssert[secret.String](y)
		return a.Reveal() == b.Reveal()
	}
	switch x.Kind() {
	case reflect.Struct:
		for f := range x.Type().Fields() {
			if f.IsExported() && !same(x.FieldByIndex(f.Index), y.FieldByIndex(f.Index)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if x.Len() != y.Len() || x.IsNil() != y.IsNil() {
			return false
		}
		for i := range x.Len() {
			if !same(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		return x.IsNil() == y.IsNil() && (x.IsNil() || same(x.Elem(), y.Elem()))
	default:
		return reflect.DeepEqual(x.Interface(), y.Interface())
	}
}
