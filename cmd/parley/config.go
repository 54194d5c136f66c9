package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/configs/bakery"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
)

const defaultFile = "parley.yaml"

func configFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("config", "c", "", "configuration `FILE` (default ./parley.yaml, else the built-in demo)")
	cmd.Flags().String("log-level", "", "debug, info, warn or error")
}

// loadConfig reads the configuration that the flags name. With none named and
// no parley.yaml here it is the demo.
func loadConfig(cmd *cobra.Command) (*config.Config, error) { return openConfig(cmd, nil) }

// openConfig is loadConfig; opened, where not nil, is told of the files that
// were looked at.
func openConfig(cmd *cobra.Command, opened func(file string)) (*config.Config, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	if path == "" && cmd.Flags().Changed("config") {
		return nil, usageError{errors.New("-c names no file: it is empty (a variable that isn't set?)")}
	}
	if path != "" {
		return readConfig(cmd, path, opened)
	}
	if _, err := os.Stat(defaultFile); err == nil {
		return readConfig(cmd, defaultFile, opened)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{fmt.Errorf("reading %s: %w", defaultFile, err)}
	}
	opts := app.Kinds()
	opts.Flags = cmd.Flags()
	return config.LoadFS(bakery.Files, defaultFile, opts)
}

// readConfig reads one file.
func readConfig(cmd *cobra.Command, path string, opened func(file string)) (*config.Config, error) {
	opts := app.Kinds()
	opts.Flags, opts.Opened = cmd.Flags(), opened
	cfg, err := config.Load(path, opts)
	return cfg, named(err, path)
}

// named makes a missing configuration a mistake of the caller's.
func named(err error, path string) error {
	if _, invalid := errors.AsType[*config.Errors](err); err == nil || invalid {
		return err
	}
	return usageError{fmt.Errorf("reading %s: %w", path, err)}
}

// allMistakes is err, of a configuration that isn't taken, with what is wrong
// in the scripts and rules that it names.
func allMistakes(cmd *cobra.Command, err error) error {
	return app.Mistakes(cmd.Context(), err, app.Options{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Log: slog.New(slog.DiscardHandler)})
}

func newLog(cmd *cobra.Command, cfg *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if machines(cfg) {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), o))
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), o))
}

// machines tells whether the log is for programs: then nothing else is to be on
// its stream.
func machines(cfg *config.Config) bool { return cfg.Log.Format == "json" }

// readable writes durations as "2s", which in JSON would be nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// describe says which configuration is used, the demo's with where it was
// looked for.
func describe(cfg *config.Config) string {
	if !cfg.Demo {
		return "configuration: " + cfg.Source
	}
	where, err := filepath.Abs(defaultFile)
	if err != nil {
		where = defaultFile
	}
	return "no " + where + ": running the built-in demo bakery (parley init writes a configuration of your own)"
}
