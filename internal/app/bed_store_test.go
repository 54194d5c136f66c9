package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// commits tells of each commit, and can end the bot at one of them.
type commits struct {
	mu      sync.Mutex
	changed chan struct{}
	n       int64  // commits of all starts
	at      int64  // 0: never
	phase   string // before or after
	crashed chan struct{}
}

func newCommits() *commits { return &commits{changed: make(chan struct{})} }

// next is closed at the next commit.
func (c *commits) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// onCommit is the hook of one start of the bot.
func (b *bed) onCommit() func(int64, string) {
	c, dead, dir := b.commits, b.dead, b.dir
	return func(_ int64, phase string) {
		c.mu.Lock()
		if phase == "before" {
			c.n++
		}
		crash := c.at > 0 && c.n >= c.at && phase == c.phase
		if crash {
			c.at = 0
		}
		if phase == "after" {
			close(c.changed)
			c.changed = make(chan struct{})
		}
		c.mu.Unlock()
		if !crash {
			return
		}
		// What is on the disk now is all that the next start finds. The
		// writer ends here, so that nothing is kept any more.
		dead.Store(true)
		if err := snapshot(dir, dir+"-after"); err != nil {
			b.t.Errorf("copying the database: %v", err)
		}
		close(c.crashed)
		runtime.Goexit()
	}
}

// migrated is a database with its schema and nothing else: making it takes
// longer than most tests.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "parley-bed-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "parley.db")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// memoryDir is a folder that costs no disk, where the system has one: these
// tests are about what is written, not about how long a disk takes.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "parley-bed-")
	if err != nil {
		return t.TempDir()
	}
	// What a crash leaves is beside it.
	t.Cleanup(func() {
		for d := dir; ; d += "-after" {
			if _, err := os.Stat(d); err != nil {
				return
			}
			if err := os.RemoveAll(d); err != nil {
				t.Error(err)
			}
		}
	})
	return dir
}

// furnish puts an empty database into the bed's folder.
func (b *bed) furnish() {
	b.t.Helper()
	data, err := migrated()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "parley.db"), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// snapshot copies the database as a process that was killed leaves it.
func snapshot(from, to string) error {
	if err := os.MkdirAll(to, 0o750); err != nil {
		return err
	}
	for _, name := range []string{"parley.db", "parley.db-wal"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// crashAt ends the bot at the n-th commit from now, before or after it.
func (b *bed) crashAt(n int64, phase string) {
	c := b.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.phase, c.crashed = c.n+n, phase, make(chan struct{})
}

// die ends the bot at once, as a kill does. start finds what it has left.
func (b *bed) die() {
	b.t.Helper()
	b.crashAt(1, "before")
	_ = b.app.st.Ping(b.ctx) // a commit, should there be none by itself
	b.dies()
}

// dies waits for the end that crashAt has ordered.
func (b *bed) dies() {
	b.t.Helper()
	b.soon(b.commits.crashed, "the crash")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = b.app.Stop(over) // its writer is gone: whatever it says about that is right
	b.app = nil
	b.dir += "-after"
}

// crash kills the bot and starts it again.
func (b *bed) crash() {
	b.t.Helper()
	b.die()
	b.start()
}

// until waits until cond holds, looking again after each commit.
func (b *bed) until(what string, cond func() bool) {
	b.t.Helper()
	for {
		next := b.commits.next()
		if cond() {
			return
		}
		select {
		case <-next:
		case <-b.ctx.Done():
			b.t.Fatalf("waiting until %s: %v; the bot said %q\n%s", what, b.ctx.Err(), b.fake.Texts(b.chat.ID), b.logs)
		}
	}
}

// row reads one row of the database.
func (b *bed) row(query string, args []any, dest ...any) {
	b.t.Helper()
	err := b.app.db.Read(b.ctx, func(tx store.Tx) error {
		_, err := tx.Row(query, args, dest...)
		return err
	})
	if err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
}

// exec changes the database behind the bot's back.
func (b *bed) exec(query string, args ...any) {
	b.t.Helper()
	err := b.app.db.Write(b.ctx, "", func(tx store.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
}

// idle tells whether a chat has neither work nor anything to be said.
func (b *bed) idle(chat channels.Chat) bool {
	b.t.Helper()
	var busy int
	b.row(`SELECT (SELECT count(*) FROM lane WHERE chat_key=?1 AND ready_at IS NOT NULL)
 + (SELECT count(*) FROM chat WHERE key=?1 AND sent_seq<out_seq)`, []any{"fake:" + string(chat.ID)}, &busy)
	return busy == 0
}

// passes lets time go by and questions run out.
func (b *bed) passes(d time.Duration) {
	b.clock.advance(d)
	b.app.dispatcher.Deadline(time.Now())
}

// away is a database that can't be written while it is shut.
type away struct {
	store.DB
	shut    atomic.Bool
	refused chan struct{} // has a signal after a write was refused
}

func newAway() *away { return &away{refused: make(chan struct{}, 1)} }

// withAway lets a test take the database away.
func withAway(a *away) option {
	return func(b *bed) {
		b.wrap = func(db store.DB) store.DB {
			a.DB = db
			return a
		}
	}
}

// Write implements store.DB.
func (a *away) Write(ctx context.Context, lane string, fn func(store.Tx) error) error {
	if a.shut.Load() {
		select {
		case a.refused <- struct{}{}:
		default:
		}
		return inbox.ErrUnavailable
	}
	return a.DB.Write(ctx, lane, fn)
}

// slowDB is a database whose writes wait while it is on.
type slowDB struct {
	store.DB
	on   atomic.Bool
	hold chan struct{}
}

// Write implements store.DB.
func (s *slowDB) Write(ctx context.Context, lane string, fn func(store.Tx) error) error {
	if s.on.Load() {
		<-s.hold
	}
	return s.DB.Write(ctx, lane, fn)
}
