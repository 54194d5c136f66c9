package platforms

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the database is read as it lies on the disk

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

// bot is what serve runs, but for its model and one tool.
type bot struct {
	t    *testing.T
	dir  string
	more string // YAML
	// store is store.url; "" is a file of the bot's own.
	store string
	// server is more of the key server, "" or with a comma before.
	server string
	on     []platform
	allow  []person
	model  turn.Model
	tools  []tool.Tool
	logs   *logs
	opts   func(*app.Options)
	built  *app.Bot

	app *app.App
}

// start runs it; the test's end stops it.
func (b *bot) start() {
	b.t.Helper()
	if b.logs == nil {
		b.logs, b.dir = &logs{}, memoryDir(b.t)
		b.t.Cleanup(func() {
			b.stop()
			if b.t.Failed() {
				b.t.Logf("the bot's log ends so:\n%s", b.logs.tail(2500))
			}
		})
	}
	opts := app.Options{
		Version: "test", Model: b.model, Tools: b.tools, In: strings.NewReader(""), Out: io.Discard,
		Log: newLogger(b.logs),
	}
	for _, p := range b.on {
		if term, ok := p.(*terminal); ok {
			opts.In, opts.Out = term.open(), term
		}
		if wa, ok := p.(*waWeb); ok {
			wa.link(b)
			opts.Transport = wa.fake.Transport()
		}
	}
	if b.opts != nil {
		b.opts(&opts)
	}
	ctx := context.WithoutCancel(b.t.Context())
	cfg, err := config.Load(b.file(), app.Kinds())
	if err != nil {
		b.t.Fatal(err)
	}
	if b.built, err = app.Build(ctx, cfg, opts); err != nil {
		b.t.Fatal(err)
	}
	if b.app, err = app.New(ctx, b.built, true); err != nil {
		b.t.Fatal(err)
	}
	if err := b.app.Start(ctx); err != nil {
		b.t.Fatal(err)
	}
	for _, p := range b.on {
		p.connect("http://" + b.app.Addr())
	}
}

// file writes the configuration.
func (b *bot) file() string {
	b.t.Helper()
	var y strings.Builder
	fmt.Fprintf(&y, "store: {url: %q}\nserver: {listen: 127.0.0.1:0, public_url: https://bot.example.com%s}\n",
		cmp.Or(b.store, "sqlite://"+filepath.Join(b.dir, "parley.db")), b.server)
	if !strings.Contains(b.more, "model:") {
		y.WriteString("model: {provider: script, script: model.yaml}\n")
	}
	if !strings.Contains(b.more, "limits:") {
		y.WriteString("limits: {per_user: 100000/1m, queue_per_chat: 1000}\n")
	}
	fmt.Fprintf(&y, "bot: {name: bot}\n%s\nchannels:\n", b.more)
	for _, p := range b.on {
		y.WriteString("  " + p.yaml(b.allow...) + "\n")
	}
	for name, text := range map[string]string{"parley.yaml": y.String(), "model.yaml": "rules:\n  - say: unused\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	return filepath.Join(b.dir, "parley.yaml")
}

func (b *bot) stop() {
	b.t.Helper()
	if b.app == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), 20*time.Second)
	defer cancel()
	if err := b.app.Stop(ctx); err != nil {
		b.t.Errorf("stopping: %v", err)
	}
	b.app = nil
}

// column reads one column of the database of a bot that was stopped.
func (b *bot) column(query string) (out []string) {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.dir, "parley.db")+"?mode=ro")
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(b.t.Context(), query)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, s.String)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// atRest makes sure that nothing is left to do and nothing was given up.
func (b *bot) atRest() {
	b.t.Helper()
	for what, query := range map[string]string{
		"lanes with work":         `SELECT key FROM lane WHERE ready_at IS NOT NULL OR in_seq<>done_seq`,
		"entries not sent":        `SELECT chat||' '||seq||' '||state FROM outbox WHERE state NOT IN ('sent','withdrawn')`,
		"calls that are open":     `SELECT id FROM call WHERE state IN ('proposed','started')`,
		"questions that are open": `SELECT token FROM wait WHERE state='pending'`,
	} {
		if found := b.column(query); len(found) > 0 {
			b.t.Errorf("%s: %d, such as %s", what, len(found), found[0])
		}
	}
}

// memoryDir is in memory where there is such a folder: these tests are not
// about the disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "parley-platforms-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func newLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// logs keeps the log.
type logs struct {
	mu sync.Mutex
	b  []byte
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

func (l *logs) tail(n int) string {
	s := l.String()
	return s[max(0, len(s)-n):]
}
