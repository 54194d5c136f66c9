package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/secret"
)

// envPrefix begins the name of every variable that overrides a setting.
const envPrefix = "PARLEY"

// processSettings lists the dotted paths of the scalars that environment and
// flags override.
func processSettings() []string {
	t := reflect.TypeFor[Config]()
	var out []string
	for _, r := range rulesOf(t) {
		switch r.name {
		case "server", "store", "bot", "model", "loop", "confirm", "limits", "outbox", "alerts", "log":
			out = append(out, scalarPaths(r.typ, r.name)...)
		}
	}
	return out
}

func scalarPaths(t reflect.Type, path string) []string {
	var out []string
	for _, r := range rulesOf(t) {
		p := join(path, r.name)
		switch {
		case is[secret.String](r.typ):
			out = append(out, p, p+"_file")
		case isScalar(r.typ), is[SystemNote](r.typ), is[AnswerBy](r.typ):
			out = append(out, p)
		case r.typ.Kind() == reflect.Struct:
			out = append(out, scalarPaths(r.typ, p)...)
		}
	}
	return out
}

// flagOf finds the flag of a setting: server.listen is set by --server-listen
// or --listen.
func flagOf(flags *pflag.FlagSet, path string) *pflag.Flag {
	if flags == nil {
		return nil
	}
	if f := flags.Lookup(strings.NewReplacer(".", "-", "_", "-").Replace(path)); f != nil {
		return f
	}
	if path == "server.listen" {
		return flags.Lookup("listen")
	}
	return nil
}

// override puts environment and flags over the tree: a flag that was given
// wins over the environment, and that over the file. An empty variable counts
// as unset.
func override(root *node, flags *pflag.FlagSet) (*node, error) {
	v := viper.New()
	v.SetEnvPrefix(envPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	for _, path := range processSettings() {
		if err := v.BindEnv(path); err != nil {
			return nil, err
		}
		origin := "environment " + envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
		if f := flagOf(flags, path); f != nil {
			if err := v.BindPFlag(path, f); err != nil {
				return nil, err
			}
			if f.Changed {
				origin = "flag --" + f.Name
			}
		}
		if !v.IsSet(path) {
			continue
		}
		leaf := &node{kind: yaml.ScalarNode, tag: "!!str", value: v.GetString(path), literal: true, at: Pos{Origin: origin}}
		root = put(root, strings.Split(path, "."), leaf)
	}
	return root, nil
}

// put sets the value at path in a copy of root. The other form of a secret
// goes: an override replaces the credential, wherever the file had it from.
func put(root *node, path []string, leaf *node) *node {
	out := node{kind: yaml.MappingNode, at: leaf.at}
	if !root.isNull() {
		if root.kind != yaml.MappingNode {
			return root // reported when it is decoded
		}
		out = *root
		out.fields = slices.Clone(root.fields)
	}
	key := path[0]
	val := leaf
	if len(path) > 1 {
		var below *node
		if f := out.get(key); f != nil {
			below = f.val
		}
		val = put(below, path[1:], leaf)
	} else {
		twin := key + "_file"
		if base, ok := strings.CutSuffix(key, "_file"); ok {
			twin = base
		}
		// A twin that is an override too stays, to be reported.
		out.fields = slices.DeleteFunc(out.fields, func(f field) bool { return f.key == twin && !f.val.literal })
	}
	if f := out.get(key); f != nil {
		f.val = val
	} else {
		out.fields = append(out.fields, field{key: key, at: leaf.at, val: val})
	}
	return &out
}
