package config

import (
	"errors"
	"reflect"
	"slices"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
)

// incomplete is the mistakes of a configuration with what is left of it.
type incomplete struct {
	*Errors
	rest *Config
}

func (e *incomplete) Unwrap() error { return e.Errors }

// Rest is what is left, by an error of [Load], of a configuration with
// mistakes, for those who find more of them by making something of it: each
// section that holds one has its defaults, each tool and channel that does is
// left out, and so are the tools that depend on such a section. It is nil where
// the file could not be read as a whole, or where not all that is wrong is
// listed.
func Rest(err error) *Config {
	if e, ok := errors.AsType[*incomplete](err); ok {
		return e.rest
	}
	return nil
}

// partial adds to the mistakes err what is left of cfg, which it changes.
func partial(err error, root *tree.Node, cfg *Config) error {
	many, ok := errors.AsType[*Errors](err)
	if !ok || many.More > 0 {
		return err
	}
	return &incomplete{many, pruner{root, many.List}.rest(cfg)}
}

// pruner takes out of a configuration what was reported.
type pruner struct {
	root *tree.Node
	list []Error
}

// rest prunes cfg itself: nobody else is given it.
func (p pruner) rest(cfg *Config) *Config {
	is, fresh := reflect.ValueOf(cfg).Elem(), reflect.ValueOf(*defaults())
	for _, r := range decode.RulesOf(is.Type()) {
		if r.Name != "tools" && r.Name != "channels" && p.wrong(p.root.Get(r.Name)) {
			is.FieldByIndex(r.Index).Set(fresh.FieldByIndex(r.Index))
		}
	}
	named := func(section, name string) *tree.Field {
		if f := p.root.Get(section); f != nil {
			return f.Val.Get(name)
		}
		return nil
	}
	cfg.Tools.Named = slices.DeleteFunc(cfg.Tools.Named, func(t Tool) bool {
		return p.wrong(named("tools", t.Name)) || t.HTTP == nil && t.SQL == nil ||
			t.HTTP != nil && p.wrong(p.root.Get("fetch")) || t.SQL != nil && p.wrong(p.root.Get("data"))
	})
	cfg.Channels = slices.DeleteFunc(cfg.Channels, func(c Channel) bool { return p.wrong(named("channels", c.Name)) })
	return cfg
}

// wrong tells whether a mistake was reported at a key or within its value.
func (p pruner) wrong(f *tree.Field) bool {
	if f == nil {
		return false
	}
	return p.at(f.At) || p.within(f.Val)
}

func (p pruner) within(n *tree.Node) bool {
	return p.at(n.At) || slices.ContainsFunc(n.Items, p.within) ||
		slices.ContainsFunc(n.Fields, func(f tree.Field) bool { return p.wrong(&f) })
}

func (p pruner) at(pos Pos) bool {
	return slices.ContainsFunc(p.list, func(e Error) bool { return e.Pos == pos })
}
