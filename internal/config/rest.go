package config

import (
	"reflect"
	"slices"
)

// Rest is the configuration without what is wrong in it, for those who find
// more mistakes by making something of it: each section that holds one has its
// defaults, each tool and channel that does is left out, and so are the tools
// that depend on such a section. It is nil where the file could not be read as
// a whole, or where not all that is wrong is listed.
func (e *Errors) Rest() *Config { return e.rest }

// pruner takes out of a configuration what was reported.
type pruner struct {
	root *node
	list []Error
}

// rest prunes cfg itself: nobody else is given it.
func (p pruner) rest(cfg *Config) *Config {
	is, fresh := reflect.ValueOf(cfg).Elem(), reflect.ValueOf(*defaults())
	for _, r := range rulesOf(is.Type()) {
		if r.name != "tools" && r.name != "channels" && p.wrong(p.root.get(r.name)) {
			is.FieldByIndex(r.index).Set(fresh.FieldByIndex(r.index))
		}
	}
	named := func(section, name string) *field {
		if f := p.root.get(section); f != nil {
			return f.val.get(name)
		}
		return nil
	}
	cfg.Tools.Named = slices.DeleteFunc(cfg.Tools.Named, func(t Tool) bool {
		return p.wrong(named("tools", t.Name)) || t.HTTP == nil && t.SQL == nil ||
			t.HTTP != nil && p.wrong(p.root.get("fetch")) || t.SQL != nil && p.wrong(p.root.get("data"))
	})
	cfg.Channels = slices.DeleteFunc(cfg.Channels, func(c Channel) bool { return p.wrong(named("channels", c.Name)) })
	return cfg
}

// wrong tells whether a mistake was reported at a key or within its value.
func (p pruner) wrong(f *field) bool {
	if f == nil {
		return false
	}
	return p.at(f.at) || p.within(f.val)
}

func (p pruner) within(n *node) bool {
	return p.at(n.at) || slices.ContainsFunc(n.items, p.within) ||
		slices.ContainsFunc(n.fields, func(f field) bool { return p.wrong(&f) })
}

func (p pruner) at(pos Pos) bool {
	return slices.ContainsFunc(p.list, func(e Error) bool { return e.Pos == pos })
}
