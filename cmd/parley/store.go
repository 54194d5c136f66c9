package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/store"
)

func newMigrate(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Create the database, or bring its schema up to date",
		Long:    "Creates the database, or brings its schema up to date. serve does so by itself; this is for doing it apart.",
		Example: "  parley migrate -c parley.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if err := app.Migrate(cmd.Context(), cfg); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "the database is up to date")
			return nil
		},
	}
	configFlag(cmd)
	return cmd
}

// readFlags are those of commands that read the store.
func readFlags(cmd *cobra.Command) {
	configFlag(cmd)
	cmd.Flags().Bool("json", false, "print JSON lines")
	cmd.Flags().Bool("follow", false, "go on and print what is new, until interrupted")
	cmd.Flags().Int("limit", 100, "how many at the most")
}

// reading opens the store beside a running daemon, reads with fn and prints.
// With --follow it reads again whenever there may be something new.
func reading[T any](cmd *cobra.Command, key func(T) string, fn func(context.Context, *store.Store, int) ([]T, error), header string, row func(T) []any) error {
	flags := cmd.Flags()
	limit, err := atLeast(flags, "limit", 1)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	s, err := app.Reader(ctx, cfg)
	if err != nil {
		return err
	}
	asJSON, _ := flags.GetBool("json") // declared by readFlags
	follow, _ := flags.GetBool("follow")
	seen := map[string]string{}
	for first := true; ; first = false {
		rows, err := fn(ctx, s, limit)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		rows = changed(rows, key, seen)
		if err := printRows(cmd.OutOrStdout(), rows, asJSON, first, header, row); err != nil {
			return errors.Join(err, s.Close())
		}
		if !follow {
			return s.Close()
		}
		select {
		case <-ctx.Done():
			return s.Close()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// changed leaves out rows that were printed as they are.
func changed[T any](rows []T, key func(T) string, seen map[string]string) []T {
	out := rows[:0]
	for _, r := range rows {
		now := fmt.Sprint(r)
		if seen[key(r)] != now {
			seen[key(r)] = now
			out = append(out, r)
		}
	}
	return out
}

func printRows[T any](w io.Writer, rows []T, asJSON, head bool, header string, row func(T) []any) error {
	if asJSON {
		enc := json.NewEncoder(w)
		for _, r := range rows {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	tw := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	if head {
		fmt.Fprintln(tw, header)
	}
	for _, r := range rows {
		for i, v := range row(r) {
			if i > 0 {
				fmt.Fprint(tw, "\t")
			}
			if t, ok := v.(time.Time); ok {
				v = stamp(t)
			}
			fmt.Fprint(tw, v)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func newChats(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "chats", Short: "List chats: what waits, what is worked on, what failed", Example: "  parley chats --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reading(cmd, func(r store.ChatRow) string { return r.Lane },
				func(ctx context.Context, s *store.Store, limit int) ([]store.ChatRow, error) {
					return s.ListChats(ctx, "", limit)
				}, "CHAT\tSTATE\tQUEUED\tTURNS\tLANG\tSINCE\tINTERRUPTED\tLAST FAILURE",
				func(r store.ChatRow) []any {
					return []any{r.Lane, r.State, r.Queued, r.Turns, dash(r.Lang), r.Since, r.Interrupted, dash(r.Failed)}
				})
		},
	}
	readFlags(cmd)
	return cmd
}

func newConfirmations(streams) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "confirmations", Short: "List questions that wait for a person", Example: "  parley confirmations --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reading(cmd, func(r store.QuestionRow) string { return r.Token },
				func(ctx context.Context, s *store.Store, limit int) ([]store.QuestionRow, error) {
					return s.ListQuestions(ctx, all, limit)
				}, "ASKED\tCHAT\tTOOL\tSTATE\tOUTCOME\tBY\tEXPIRES",
				func(r store.QuestionRow) []any {
					return []any{r.Asked, r.Lane, r.Tool, r.State, dash(r.Outcome), dash(string(r.By)), r.Expires}
				})
		},
	}
	readFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also those that are over")
	return cmd
}

func newOutbox(streams) *cobra.Command {
	var dead bool
	cmd := &cobra.Command{
		Use: "outbox", Short: "List what waits to be sent, and with --dead what was given up", Example: "  parley outbox --dead",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reading(cmd, func(r store.EntryRow) string { return fmt.Sprint(r.Chat, r.Seq) },
				func(ctx context.Context, s *store.Store, limit int) ([]store.EntryRow, error) {
					return s.ListOutbox(ctx, dead, limit)
				}, "CREATED\tCHAT\tNUMBER\tKIND\tSTATE\tATTEMPTS\tDUE\tERROR",
				func(r store.EntryRow) []any {
					return []any{r.Created, r.Chat, r.Seq, r.Kind, r.State, r.Attempts, r.Due, dash(r.Error)}
				})
		},
	}
	readFlags(cmd)
	cmd.Flags().BoolVar(&dead, "dead", false, "also those that were given up")
	return cmd
}

// counted is a number of things, whose plural is regular.
func counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
