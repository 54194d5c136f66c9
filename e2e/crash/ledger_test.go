//go:build unix

package crash

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	_ "modernc.org/sqlite" // the database is read as it lies on the disk
)

// ledger is a database that daemons left behind: it gives the first column of
// a query in SQLite's words.
type ledger func(ctx context.Context, query string, args ...string) ([]string, error)

// books opens the file that a daemon left behind.
func books(t *testing.T, dir string) ledger {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+dir+"/parley.db?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return func(ctx context.Context, query string, args ...string) (out []string, err error) {
		values := make([]any, len(args))
		for i, a := range args {
			values[i] = a
		}
		rows, err := db.QueryContext(ctx, query, values...)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, rows.Err()
	}
}

// sharedBooks opens the PostgreSQL database that several daemons left behind.
func sharedBooks(t *testing.T, url string) ledger {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	words := strings.NewReplacer("?1", "$1", "parked<>0", "parked", "group_concat(json_extract(event,'$.type'))", "count(*)")
	field := regexp.MustCompile(`json_extract\(event,'\$\.(\w+)'\)`)
	return func(ctx context.Context, query string, args ...string) (out []string, err error) {
		query = field.ReplaceAllString(words.Replace(query), "(convert_from(event,'UTF8')::json->>'$1')")
		values := make([][]byte, len(args))
		for i, a := range args {
			values[i] = []byte(a)
		}
		res := c.ExecParams(ctx, query, values, nil, nil, nil).Read()
		for _, row := range res.Rows {
			out = append(out, string(row[0]))
		}
		return out, res.Err
	}
}

// invariants are what has to hold once everything was said and the daemon has
// stopped: nothing is left to do, and nothing was done twice.
func invariants(t *testing.T, db ledger) {
	t.Helper()
	for what, query := range map[string]string{
		"lanes with work":                `SELECT key FROM lane WHERE ready_at IS NOT NULL OR in_seq<>done_seq`,
		"lanes on a turn":                `SELECT key FROM lane WHERE turn<>'' OR parked<>0`,
		"lanes held to have crashed":     `SELECT key FROM lane WHERE head_attempt<>0 OR error<>''`,
		"entries not sent":               `SELECT chat||' '||seq||' '||state FROM outbox WHERE state NOT IN ('sent','withdrawn')`,
		"chats with something to say":    `SELECT key FROM chat WHERE sent_seq<>out_seq`,
		"calls that are open":            `SELECT id FROM call WHERE state IN ('proposed','started')`,
		"questions that are open":        `SELECT token FROM wait WHERE state='pending'`,
		"turns that aren't over":         `SELECT id||' '||state FROM turn WHERE state NOT IN ('done','cancelled')`,
		"gaps in a log":                  `SELECT chat FROM log GROUP BY chat HAVING min(n)<>1 OR max(n)<>count(*)`,
		"logs that their chat miscounts": `SELECT key FROM chat WHERE log_n<>(SELECT count(*) FROM log WHERE chat=key)`,
		"messages said twice":            `SELECT chat||' '||id FROM log WHERE edit_of='' GROUP BY chat, id HAVING count(*)>1`,
		"questions edited twice":         `SELECT chat||' '||edit_of FROM log WHERE edit_of<>'' GROUP BY chat, edit_of HAVING count(*)>1`,
		"calls with more than one end":   events(`json_extract(event,'$.type') IN ('tool.result','tool.error','tool.timeout','tool.outcome_unknown')`),
		"calls announced more than once": events(`json_extract(event,'$.type')='tool.call'`),
		"questions asked more than once": events(`json_extract(event,'$.type')='tool.confirm.requested'`),
		"questions answered more than once": events(
			`json_extract(event,'$.type') IN ('tool.confirm.approved','tool.confirm.denied','tool.confirm.replied','tool.confirm.cancelled')`),
		"approved calls that nobody asked for": `SELECT id FROM call WHERE tool='place_order' AND started_at>0 AND turn||id NOT IN
 (SELECT json_extract(event,'$.turn')||json_extract(event,'$.callId') FROM audit WHERE json_extract(event,'$.type')='tool.confirm.approved')`,
		"calls without an event": `SELECT id FROM call WHERE started_at>0 AND id NOT IN (SELECT json_extract(event,'$.callId') FROM audit
 WHERE json_extract(event,'$.type') IN ('tool.result','tool.error','tool.timeout','tool.outcome_unknown'))`,
	} {
		if found := column(t, db, query); len(found) > 0 {
			t.Errorf("%s: %d, such as %s", what, len(found), found[0])
		}
	}
}

// events finds calls that have several events of a kind.
func events(kind string) string {
	return `SELECT json_extract(event,'$.callId')||' '||group_concat(json_extract(event,'$.type')) FROM audit WHERE ` + kind +
		` GROUP BY json_extract(event,'$.turn'), json_extract(event,'$.callId') HAVING count(*)>1`
}

func column(t *testing.T, db ledger, query string, args ...string) []string {
	t.Helper()
	out, err := db(context.WithoutCancel(t.Context()), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// checkLog compares a person's memory with the chat's log: every text that was
// accepted is there once, in order, and the bot said no more than they heard.
func checkLog(t *testing.T, db ledger, p *person) {
	t.Helper()
	if diff := cmp.Diff(p.wrote, column(t, db, `SELECT text FROM log WHERE chat=?1 AND author='user' ORDER BY n`, p.chat)); diff != "" {
		t.Errorf("chat %s: what the person wrote, as they remember it (-) and in the log (+):\n%s", p.name, diff)
	}
	var told []string
	for _, e := range p.events {
		if e.Event == "edit" || e.Data.From == "bot" {
			told = append(told, e.Data.Text)
		}
	}
	said := column(t, db, `SELECT text FROM log WHERE chat=?1 AND author='bot' ORDER BY n`, p.chat)
	if len(said) != p.heard+p.edits || !slices.Equal(said[:min(len(said), len(told))], told[:min(len(said), len(told))]) {
		t.Errorf("chat %s: the log has %d messages and edits of the bot, the person waited for %d:\n%s", p.name, len(said), p.heard+p.edits,
			strings.Join(said, "\n"))
	}
}

// clean tells whether the file was closed in good order.
func clean(t *testing.T, db ledger) {
	t.Helper()
	if got := fmt.Sprint(column(t, db, `SELECT value FROM meta WHERE name='boot'`)); got != "[closed]" {
		t.Errorf("the database was left by %s, want it closed", got)
	}
}
