package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/store"
)

func newAudit(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the newest events: what tools were called and who approved it",
		Long: "Lists the newest events: what tools were called, who approved it and what came of it. The lines of --json have\n" +
			"all that is known of each, its arguments too.",
		Example: "  parley audit --follow\n  parley audit --json --limit 1000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cursor := int64(-1) // nothing was read yet
			return reading(cmd, func(r audit.Row) string { return fmt.Sprint(r.ID) },
				func(ctx context.Context, s *store.Store, limit int) ([]audit.Row, error) {
					read := func() ([]audit.Row, error) { return s.After(ctx, cursor, limit) }
					if cursor < 0 {
						read = func() ([]audit.Row, error) { return s.Newest(ctx, limit) }
					}
					rows, err := read()
					cursor = max(cursor, 0)
					if len(rows) > 0 {
						cursor = rows[len(rows)-1].ID
					}
					return rows, err
				}, "TIME\tCHAT\tEVENT\tTOOL\tOUTCOME", auditColumns)
		},
	}
	readFlags(cmd)
	return cmd
}

// auditColumns are a row for people. What a server or a person wrote is made
// harmless for a terminal.
func auditColumns(r audit.Row) []any {
	var e audit.Event
	if err := json.Unmarshal(r.Event, &e); err != nil {
		return []any{"-", "-", "unreadable", "-", fmt.Sprintf("event %d: %v", r.ID, err)}
	}
	var at time.Time
	if e.At > 0 {
		at = time.UnixMilli(e.At)
	}
	return []any{at, dash(plain(e.ChatKey)), dash(plain(e.Type)), dash(plain(e.Tool)), outcomeOf(e)}
}

// maxOutcome bounds what is shown of an error, in characters.
const maxOutcome = 80

// outcomeOf says in a few words what came of it: who decided, how long it took
// and what went wrong.
func outcomeOf(e audit.Event) string {
	var parts []string
	if e.Type == audit.ToolResult {
		parts = append(parts, "ok")
	}
	if e.Actor != "" {
		parts = append(parts, "by "+plain(e.Actor))
	}
	if e.DurationMs > 0 {
		parts = append(parts, "after "+(time.Duration(e.DurationMs)*time.Millisecond).String())
	}
	if e.Error != "" {
		text := []rune(plain(strings.Join(strings.Fields(e.Error), " ")))
		if len(text) > maxOutcome {
			text = append(text[:maxOutcome], '…')
		}
		parts = append(parts, string(text))
	}
	return dash(strings.Join(parts, ", "))
}
