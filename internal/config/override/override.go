// Package override puts what the environment and the command line say over a
// configuration that was read from files.
//
// It owns the names of variables (PARLEY_SERVER_LISTEN) and flags, and which of
// them wins; viper merges them. It doesn't own which settings can be overridden,
// which internal/config says, nor what a value means: it is decoded as if it
// stood in the file.
package override

import (
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/tree"
)

// envPrefix begins the name of every variable that overrides a setting.
const envPrefix = "PARLEY"

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

// Override puts environment and flags over the tree, for the settings whose
// dotted paths are given: a flag that was given
// wins over the environment, and that over the file. An empty variable counts
// as unset.
func Override(root *tree.Node, settings []string, flags *pflag.FlagSet) (*tree.Node, error) {
	v := viper.New()
	v.SetEnvPrefix(envPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	for _, path := range settings {
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
		leaf := &tree.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.GetString(path), Literal: true, At: tree.Pos{Origin: origin}}
		root = root.Put(strings.Split(path, "."), leaf)
	}
	return root, nil
}
