package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
)

func newChat(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "chat",
		Short:   "Talk to the bot in the terminal",
		Long:    "Talks to the bot in the terminal: the same pipeline as on any channel, with typed confirmations. Ctrl-D ends it.\nInput from a pipe is said line by line, each after the answer to the one before.",
		Example: "  parley chat\n  printf 'two coffees please\\nyes\\n' | parley chat",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return chat(cmd, cfg)
		},
	}
	configFlag(cmd)
	return cmd
}

func chat(cmd *cobra.Command, cfg *config.Config) error {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	if !cmd.Flags().Changed("log-level") {
		cfg.Log.Level = "error" // a log would run through the conversation
	}
	opts := app.Options{
		Version: version, Log: newLog(cmd, cfg), In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Terminal: isTerminal(cmd),
		Fatal: func(err error) { cancel(fatalError{err}) },
	}
	done := app.Terminal(&opts)
	bot, err := app.Build(ctx, cfg, opts)
	if err != nil {
		return usageError{err}
	}
	a, err := app.New(ctx, bot, false)
	if err != nil {
		return errors.Join(err, bot.Close(ctx))
	}
	if opts.Terminal {
		fmt.Fprintln(opts.Out, "Ctrl-D ends")
	}
	if err := a.Start(ctx); err != nil {
		return errors.Join(err, stopApp(a, cfg))
	}
	select {
	case <-done():
	case <-ctx.Done():
		if e, ok := errors.AsType[fatalError](context.Cause(ctx)); ok {
			err = e
		}
	}
	return errors.Join(err, stopApp(a, cfg))
}

// isTerminal tells whether a person sits at both ends.
func isTerminal(cmd *cobra.Command) bool {
	for _, s := range []any{cmd.InOrStdin(), cmd.OutOrStdout()} {
		f, ok := s.(*os.File)
		if !ok || !isatty.IsTerminal(f.Fd()) {
			return false
		}
	}
	return true
}
