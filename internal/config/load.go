package config

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/override"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

// Options say what a build can do and where values may come from. The zero
// value checks against everything that parley knows.
type Options struct {
	// Flags override process settings where they were given: server.listen
	// by --server-listen or --listen, log.level by --log-level, and so on.
	Flags *pflag.FlagSet
	// Env looks up ${VAR}; the default is os.LookupEnv. PARLEY_… overrides
	// are always the process's own.
	Env func(name string) (string, bool)
	// ChannelKinds, Providers and ToolKinds are what this build has; nil is
	// all that are known.
	ChannelKinds, Providers, ToolKinds []string
	// Opened, where not nil, is told of every file that is read or looked at,
	// and of the patterns of include, whether or not they are there: what a
	// new configuration may come from.
	Opened func(name string)
	// Channel, where not nil, decodes a channel's section as its adapter is
	// made from it. It is given sections that end Decode with an error in any
	// case, and must return that error.
	Channel func(cfg *Config, ch Channel) error
	// Stores are the schemes that store.url may have, likewise.
	Stores []string
}

// Load reads the configuration in a file on disk. A file that can't be read
// is an error that wraps fs.ErrNotExist and the like; everything else that is
// wrong is an *Errors, which lists all of it.
func Load(path string, opts Options) (*Config, error) {
	return load(tree.Source{Main: path, Opened: opts.Opened}, opts)
}

// LoadFS reads a configuration that is built into the program: Config.Demo is
// set, and the server must listen on a loopback address.
func LoadFS(fsys fs.FS, path string, opts Options) (*Config, error) {
	return load(tree.Source{FS: fsys, Main: path, Opened: opts.Opened}, opts)
}

func load(src tree.Source, opts Options) (*Config, error) {
	if opts.Env == nil {
		opts.Env = os.LookupEnv
	}
	rep := &tree.Report{}
	root, err := tree.Load(src, rep, opts.Env)
	if err != nil {
		return nil, problem.Unreadable.Errorf("read the configuration: %w", err)
	}
	// A broken file's other mistakes are only guesses.
	if root == nil && len(rep.List) > 0 {
		return nil, rep.Err()
	}
	if root, err = override.Override(root, processSettings(), opts.Flags); err != nil {
		return nil, fmt.Errorf("read the process settings: %w", err)
	}
	// An empty file, which the environment may have filled.
	if root == nil {
		root = &tree.Node{Kind: yaml.MappingNode}
	}
	if root.At.Line == 0 {
		root.At = Pos{File: src.Main, Line: 1, Col: 1}
	}
	cfg := defaults()
	cfg.Source, cfg.Demo, cfg.src = src.Main, src.FS != nil, src
	d := &decode.Decoder{Rep: rep, Src: src, Env: opts.Env}
	d.Into(root, cfg, "")
	cfg.Model = cfg.Model.withDefaults()
	c := &checker{cfg: cfg, root: root, rep: rep, opts: opts}
	c.check()
	if err := rep.Err(); err != nil {
		return nil, partial(err, root, cfg)
	}
	return cfg, nil
}
