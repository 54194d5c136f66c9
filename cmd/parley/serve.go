package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
)

func newServe(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the daemon",
		Long:    "Runs the daemon until it gets SIGTERM. Without -c it reads ./parley.yaml; where there is none it runs\nthe built-in demo bakery: web chat, scripted model, data in ./data, on a loopback address only.",
		Example: "  parley serve\n  parley serve -c /etc/parley/parley.yaml --listen 127.0.0.1:9000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var files []string
			cfg, err := openConfig(cmd, func(file string) { files = append(files, file) })
			if err != nil {
				return allMistakes(cmd, err)
			}
			return serve(cmd, cfg, files)
		},
	}
	configFlag(cmd)
	cmd.Flags().String("listen", "", "`HOST:PORT` to listen on, over server.listen")
	return cmd
}

func serve(cmd *cobra.Command, cfg *config.Config, files []string) error {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	log := newLog(cmd, cfg)
	if machines(cfg) {
		log.Info("starting", "config", cfg.Source, "demo", cfg.Demo)
	} else {
		fmt.Fprintln(cmd.ErrOrStderr(), describe(cfg))
	}
	opts := app.Options{
		Version: version, Log: log, GiveBack: true, In: cmd.InOrStdin(), Out: cmd.OutOrStdout(),
		Fatal: func(err error) { cancel(fatalError{err}) },
	}
	if !cfg.Demo {
		opts.Files, opts.Watch = files, true
		opts.Load = func(opened func(string)) (*config.Config, error) { return readConfig(cmd, cfg.Source, opened) }
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	bot, err := app.Build(ctx, cfg, opts)
	if err != nil {
		return early(cmd, log, usageError{err})
	}
	a, err := app.New(ctx, bot, true)
	if err != nil {
		return early(cmd, log, errors.Join(err, closeBot(bot, cfg)))
	}
	if err := a.Start(ctx); err != nil {
		return early(cmd, log, errors.Join(err, stopApp(a, cfg)))
	}
	log.Info("listening", "addr", a.Addr(), "version", version)
	if cfg.Demo && !machines(cfg) {
		fmt.Fprintf(cmd.ErrOrStderr(), "open http://%s/chat/ and order something\n", a.Addr())
	}
	err = untilEnd(ctx, a, hangups)
	log.Info("stopping")
	return errors.Join(err, stopApp(a, cfg))
}

// untilEnd waits for the daemon's end. A hangup has it read its configuration
// again; what is wrong with that is logged, and no end.
func untilEnd(ctx context.Context, a *app.App, hangups <-chan os.Signal) error {
	for {
		select {
		case err := <-a.Served():
			return err
		case <-hangups:
			_, _ = a.Reload(ctx) // it has logged what was wrong
		case <-ctx.Done():
			if e, ok := errors.AsType[fatalError](context.Cause(ctx)); ok {
				return e
			}
			return nil
		}
	}
}

// fatalError is a store that has failed.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

// early is why the daemon didn't start. That it was told to stop meanwhile is
// no failure, whatever the interruption looked like where it was met.
func early(cmd *cobra.Command, log *slog.Logger, err error) error {
	if cmd.Context().Err() == nil {
		return err
	}
	log.Info("stopped while starting", "err", err)
	return nil
}

func stopApp(a *app.App, cfg *config.Config) error {
	ctx, cancel := stopContext(cfg)
	defer cancel()
	return a.Stop(ctx)
}

func closeBot(bot *app.Bot, cfg *config.Config) error {
	ctx, cancel := stopContext(cfg)
	defer cancel()
	return bot.Close(ctx)
}

// stopContext bounds a stop. It isn't the process's, which has ended by then.
func stopContext(cfg *config.Config) (context.Context, context.CancelFunc) {
	limit := cfg.Server.ShutdownTimeout
	if limit <= 0 {
		limit = 20 * time.Second
	}
	return context.WithTimeout(context.Background(), limit)
}
