package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type bed struct {
	t       *testing.T
	dir     string
	changes chan struct{}
	files   func() []string
}

// watching runs a watcher over files of a new folder, made by prepare.
func watching(t *testing.T, prepare func(b *bed), files ...string) *bed {
	t.Helper()
	b := &bed{t: t, dir: t.TempDir(), changes: make(chan struct{}, 100)}
	prepare(b)
	b.files = func() []string {
		var out []string
		for _, f := range files {
			out = append(out, filepath.Join(b.dir, f))
		}
		return out
	}
	w, err := New(b.files(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- w.Run(ctx, func(context.Context) []string {
			b.changes <- struct{}{}
			return b.files()
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bed) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

// told waits for a change. The time is patience, not a claim.
func (b *bed) told() {
	b.t.Helper()
	select {
	case <-b.changes:
	case <-time.After(30 * time.Second):
		b.t.Fatal("the change wasn't noticed")
	}
}

func TestWatch_HoweverAFileIsWritten(t *testing.T) {
	t.Parallel()
	start := func(b *bed) { b.write("parley.yaml", "one") }
	for name, change := range map[string]func(b *bed){
		"in place": func(b *bed) { b.write("parley.yaml", "two") },
		"a new file takes the name": func(b *bed) {
			b.write("parley.yaml.tmp", "two")
			b.must(os.Rename(b.path("parley.yaml.tmp"), b.path("parley.yaml")))
		},
		"the old one is kept": func(b *bed) {
			b.must(os.Rename(b.path("parley.yaml"), b.path("parley.yaml~")))
			b.write("parley.yaml", "two")
		},
		"removed":             func(b *bed) { b.must(os.Remove(b.path("parley.yaml"))) },
		"one that came to be": func(b *bed) { b.write("tools.ts", "x") },
		"one of a pattern":    func(b *bed) { b.write("conf.d/b.yaml", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := watching(t, func(b *bed) { start(b); b.write("conf.d/a.yaml", "a") }, "parley.yaml", "tools.ts", "conf.d/*.yaml")
			change(b)
			b.told()
			b.write("parley.yaml", "three")
			b.told()
		})
	}
}

// A ConfigMap: the file is a link into ..data, which is a link to a folder
// that is replaced as a whole.
func TestWatch_AConfigMapIsSwapped(t *testing.T) {
	t.Parallel()
	b := watching(t, func(b *bed) {
		b.write("..2026_1/parley.yaml", "one")
		b.must(os.Symlink("..2026_1", b.path("..data")))
		b.must(os.Symlink("..data/parley.yaml", b.path("parley.yaml")))
	}, "parley.yaml")
	for _, next := range []string{"2", "3"} {
		b.write("..2026_"+next+"/parley.yaml", next)
		b.must(os.Symlink("..2026_"+next, b.path("..data_tmp")))
		b.must(os.Rename(b.path("..data_tmp"), b.path("..data")))
		b.must(os.RemoveAll(b.path("..2026_1")))
		b.told()
	}
}

// Contents count: what is written as it was, and other files, are no change.
func TestWatch_OnlyContentsCount(t *testing.T) {
	t.Parallel()
	b := watching(t, func(b *bed) { b.write("parley.yaml", "one") }, "parley.yaml")
	b.write("parley.yaml", "one")
	b.write("parley.db-wal", "x")
	b.must(os.Chtimes(b.path("parley.yaml"), time.Now(), time.Now()))
	b.write("parley.yaml", "two")
	b.told()
	b.write("parley.yaml", "three")
	b.told()
	if n := len(b.changes); n != 0 {
		t.Errorf("%d changes too many", n)
	}
}
