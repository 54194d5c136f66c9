package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/control"
)

func newForget(streams) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "forget CHAT", Short: "Remove what is known of a chat",
		Long: "Ends what is under way in the chat and removes its messages, history, log, questions, calls and what\n" +
			"tools saved for it. Of the audit there stays what was done and when, without arguments and people; audit\n" +
			"files and webhooks that have an event already keep it. Who may write stays: parley senders remove.",
		Example: "  parley forget telegram:123456789 --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if !yes {
				if !isTerminal(cmd) {
					return usageError{errors.New("nothing was removed: say --yes, for there is nobody to ask")}
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Forget everything about %s? (yes/no) ", plain(args[0]))
				line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // the end of the input is no yes
				if strings.ToLower(strings.TrimSpace(line)) != "yes" {
					return errors.New("nothing was removed")
				}
			}
			return app.Operate(cmd.Context(), cfg, func(ops control.Operations) error {
				known, err := ops.ForgetChat(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if !known {
					return fmt.Errorf("nothing is known of a chat %q: parley chats lists them, as CHANNEL:CHAT", args[0])
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is forgotten\n", plain(args[0]))
				return nil
			})
		},
	}
	configFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return cmd
}
