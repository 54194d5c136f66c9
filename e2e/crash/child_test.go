//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
)

// What a child process is told by its environment.
const (
	envMode    = "CRASH_MODE"    // be a daemon, of one of the kinds below
	envAt      = "CRASH_AT"      // "17 after": die at that commit
	envData    = "CRASH_DATA"    // folder of the database
	envBackend = "CRASH_BACKEND" // host:port of the tools
	envTimeout = "CRASH_TIMEOUT" // confirm.timeout
	configFile = "testdata/parley.yaml"
)

// Kinds of daemons.
const (
	modeServe   = "serve"
	modePoison  = "poison"  // with a model that kills it
	modeMeasure = "measure" // says how large it is
)

// child is what this test's binary does as a daemon.
func child(mode string) int {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := serve(mode, log); err != nil {
		log.Error("the daemon ends", "err", err)
		return 1
	}
	return 0
}

// serve is cmd/parley's serve with a place to die at.
func serve(mode string, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	begun := time.Now()
	cfg, err := config.Load(configFile, app.Kinds())
	if err != nil {
		return err
	}
	var commits int64
	at := os.Getenv(envAt)
	opts := app.Options{
		Version: "test", Log: log,
		Fatal: func(err error) { log.Error("the store failed", "err", err); os.Exit(1) },
		OnCommit: func(n int64, phase string) {
			if at == fmt.Sprint(n, " ", phase) {
				die()
			}
			commits = n
		},
	}
	if mode == modePoison {
		opts.Model = poisoned{}
	}
	bot, err := app.Build(ctx, cfg, opts)
	if err != nil {
		return err
	}
	a, err := app.New(ctx, bot, true)
	if err != nil {
		return errors.Join(err, bot.Close(ctx))
	}
	err = a.Start(ctx)
	if err == nil {
		log.Info("listening", "addr", a.Addr())
		if mode == modeMeasure {
			measure(log, time.Since(begun))
		}
		<-ctx.Done()
	}
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = errors.Join(err, a.Stop(end))
	log.Info("stopped", "commits", commits)
	return err
}

// die ends the process as the kernel does: no deferred call, no flush.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// poisoned is a model that doesn't survive some messages.
type poisoned struct{}

// Words in a message that the poisoned model reacts to.
const (
	poison = "poison" // it kills the process
	slow   = "slowly" // the answer takes long enough to be there when another kills it
)

// Generate implements turn.Model.
func (poisoned) Generate(ctx context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1].Text
	if strings.Contains(last, poison) && pause(ctx, 200*time.Millisecond) {
		die()
	}
	if strings.Contains(last, slow) && !pause(ctx, time.Second) {
		return llm.Response{}, context.Cause(ctx)
	}
	return llm.Response{Text: "You said: " + last, Stop: llm.StopEnd, From: "test/poisoned"}, nil
}
