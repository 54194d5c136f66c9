package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/control"
	"github.com/parley-bot/parley/internal/store"
)

func newSenders(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "senders", Short: "List people who knocked (unknown: pair) and those who were let in, and let them in or out",
		Long: "Where a channel has unknown: pair, people who aren't in its allow list are given a code. This lists\n" +
			"who waits with one and who was let in; approve lets somebody in, remove takes that back.",
		Example: "  parley senders\n  parley senders approve K7WQ-4MF2\n  parley senders remove telegram 123456789",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reading(cmd, func(r store.SenderRow) string { return r.Channel + " " + string(r.User) },
				func(ctx context.Context, s *store.Store, limit int) ([]store.SenderRow, error) {
					return s.ListSenders(ctx, limit)
				}, "CHANNEL\tUSER\tNAME\tCODE\tASKED\tCODE EXPIRES\tLET IN",
				func(r store.SenderRow) []any {
					return []any{r.Channel, plain(string(r.User)), dash(plain(r.Name)), dash(r.Code), r.Asked, r.Expires, r.LetIn}
				})
		},
	}
	readFlags(cmd)
	for _, sub := range []*cobra.Command{newApprove(), newPutOut()} {
		checkArgs(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// plain is a name without what a terminal would obey.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, s)
}

func newApprove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "approve CODE", Short: "Let in whom the code was given to", Example: "  parley senders approve K7WQ-4MF2",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return app.Operate(cmd.Context(), cfg, func(ops control.Operations) error {
				channel, user, found, err := ops.Approve(cmd.Context(), tidyCode(args[0]))
				if err != nil {
					return err
				}
				if !found {
					return errors.New("no code that is still good reads so: parley senders lists them; one is good for an hour, and a new message gets a new one")
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s may write to %s now\n", plain(string(user)), channel)
				return nil
			})
		},
	}
	configFlag(cmd)
	return cmd
}

// tidyCode is a code as it is stored: people leave the dash out, or write small.
func tidyCode(s string) string {
	s = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(s))
	if len(s) == 8 {
		s = s[:4] + "-" + s[4:]
	}
	return s
}

func newPutOut() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove CHANNEL USER", Short: "Take back what approve gave; it holds within a minute", Example: "  parley senders remove telegram 123456789",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return app.Operate(cmd.Context(), cfg, func(ops control.Operations) error {
				found, err := ops.PutOut(cmd.Context(), args[0], channels.UserID(args[1]))
				if err != nil {
					return err
				}
				if !found {
					return fmt.Errorf("nobody %q was let in to channel %q: parley senders lists them", args[1], args[0])
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s may not write to %s any more\n", args[1], args[0])
				return nil
			})
		},
	}
	configFlag(cmd)
	return cmd
}
