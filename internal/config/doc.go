// Package config reads the configuration of a daemon: one YAML file, the files
// it includes, the environment and the command line.
//
// It owns the keys of every section that the core itself uses, their defaults,
// the expansion of ${VAR}, the *_file form of every secret, and the checks that
// need neither a network nor a running store. It doesn't own an adapter's own
// keys: a channel's section stays as it was written until [Channel.Decode] is
// given the adapter's struct. Nor does it own texts (internal/locale), words of
// consent (internal/confirm) or schemas (internal/tool): it asks those what they
// think of what is written, to say it with its place, and hands it on.
//
// How files become a tree of values with their places is package tree's, how a
// tree fills structs is package decode's, which JSON Schema they have is package
// schema's; they know no key.
//
// The YAML is parsed by go.yaml.in/yaml and then decoded by package decode, not
// by that library's struct decoder, for three reasons: every mistake is reported
// and not only the first, each with file, line, column and the nearest key that
// exists; positions survive in sections that are decoded later; and ${VAR} is
// expanded value by value, after parsing, so that a variable's content can
// never become YAML. Values of types that are neither plain nor ours are still
// given to the library, with unknown keys refused.
//
// Package override lets environment and flags win over the process settings only
// (server, store, bot, model, loop, confirm, limits, outbox, alerts, log): viper
// folds the case of keys, which tools, locale and channels must keep.
package config
