package config

import (
	"reflect"
	"slices"

	"github.com/parley-bot/parley/internal/secret"
)

// Changed lists the keys whose values differ between two configurations, as
// section.key, and whole sections where those have names of the operator's own
// (tools, channels.NAME, …). Where something is written doesn't matter, nor
// how a variable is replaced: a process keeps its environment.
func Changed(was, is *Config) []string {
	var out []string
	a, b := reflect.ValueOf(*was), reflect.ValueOf(*is)
	for _, r := range rulesOf(a.Type()) {
		x, y := a.FieldByIndex(r.index), b.FieldByIndex(r.index)
		switch {
		case r.name == "channels":
			out = append(out, changedChannels(was.Channels, is.Channels)...)
		case x.Kind() == reflect.Struct && r.name != "mcp" && r.name != "tools" && r.name != "model":
			for _, s := range rulesOf(x.Type()) {
				if !same(x.FieldByIndex(s.index), y.FieldByIndex(s.index)) {
					out = append(out, join(r.name, s.name))
				}
			}
		case !same(x, y):
			out = append(out, r.name)
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
		if old == nil || old.Kind != c.Kind || !equal(old.node, c.node) {
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
	case is[Pos](x.Type()):
		return true
	case is[Section](x.Type()):
		a, _ := reflect.TypeAssert[Section](x)
		b, _ := reflect.TypeAssert[Section](y)
		return equal(a.node, b.node)
	case is[secret.String](x.Type()):
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

// equal compares what is written, the order of keys aside.
func equal(a, b *node) bool {
	if a.isNull() || b.isNull() {
		return a.isNull() == b.isNull()
	}
	if a.kind != b.kind || a.value != b.value || a.tag != b.tag || len(a.fields) != len(b.fields) {
		return false
	}
	for _, f := range a.fields {
		g := b.get(f.key)
		if g == nil || !equal(f.val, g.val) {
			return false
		}
	}
	return slices.EqualFunc(a.items, b.items, equal)
}
