// Command parley is the chatbot daemon and the tools around it.
//
// It owns flags, signals and exit codes: 0 is well, 1 a failure, 2 wrong usage
// or an invalid configuration. Everything else is internal/app's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // to silence what libraries write to it
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/config"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// version and revision are set by the linker.
var (
	version  = "dev"
	revision = "unknown" //nolint:gochecknoglobals // as version
)

func main() {
	// Libraries write there what servers sent them, which may hold a secret:
	// net/http does with bytes that come unasked. Ours goes to slog.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what doesn't heed the first
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// streams are the process's own, so that commands can be tested.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot(streams{in, out, errOut})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(errOut, "parley:", strings.TrimSpace(err.Error()))
	_, wrongConfig := errors.AsType[*config.Errors](err)
	_, wrongUse := errors.AsType[usageError](err)
	if wrongConfig || wrongUse {
		return exitUsage
	}
	return exitFailure
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "A chatbot daemon that asks before it acts",
		Long: "parley answers people on messengers and on the web with a language model and your own tools.\n" +
			"A tool that has effects runs only after the person said yes, and then exactly once.",
		Example:       "  parley serve            # the demo bakery, if there is no parley.yaml\n  parley init mybot       # a configuration to start from\n  parley check -c mybot/parley.yaml",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	for _, c := range []func(streams) *cobra.Command{
		newServe, newChat, newCheck, newTools, newInit, newSchema, newVersion, newMigrate, newBackup, newExport,
		newConfirmations, newChats, newAudit, newOutbox, newSenders, newForget, newWebhooks, newPair, newHealth, newMCP,
	} {
		cmd := c(s)
		checkArgs(cmd)
		root.AddCommand(cmd)
	}
	checkArgs(root)
	checkBuiltIn(root)
	return root
}
