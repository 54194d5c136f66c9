package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/store"
)

func newExport(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export CHAT",
		Short: "Print all that is kept of a chat, as JSON lines",
		Long: "Prints all that the database holds about a chat, as JSON lines; also beside the daemon, and without\n" +
			"changing anything. CHAT is a key such as web:ID, as parley chats lists them; of a group it is the\n" +
			"part without a person. Each line has a kind: lane, message, history, turn, call, question, run, log,\n" +
			"outbox, event (of the audit) or saved (by tools).",
		Example: "  parley export telegram:123456789 > chat.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			s, err := app.Reader(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			lines, err := s.Export(cmd.Context(), args[0])
			if err := errors.Join(err, s.Close()); err != nil {
				if errors.Is(err, store.ErrUnknownChat) {
					return fmt.Errorf("%w (parley chats lists those that are)", err)
				}
				return err
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			for _, line := range lines {
				fmt.Fprintf(w, "%s\n", line) // an error stays until Flush
			}
			return w.Flush()
		},
	}
	configFlag(cmd)
	return cmd
}
