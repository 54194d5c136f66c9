package js

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// Source says where a module is.
type Source struct {
	path string // as the user wrote it
	fsys fs.FS  // not nil: part of the program
	text string // not "": the whole module
}

// File is a script on disk. npm packages are found in node_modules beside it or
// above.
func File(path string) Source { return Source{path: path} }

// Embedded is a script in a file system that is part of the program. It may
// import its neighbours there, and no packages.
func Embedded(fsys fs.FS, name string) Source { return Source{path: name, fsys: fsys} }

func (s Source) dir() string { return filepath.Dir(s.path) }

func (s Source) onDisk() bool { return s.fsys == nil && s.text == "" }

// read reads a file of the source, named relative to where it is rooted.
func (s Source) read(name string) ([]byte, error) {
	switch {
	case s.text != "" && name == s.path:
		return []byte(s.text), nil
	case s.text != "":
		return nil, fs.ErrNotExist
	case s.fsys != nil:
		return fs.ReadFile(s.fsys, name)
	}
	return os.ReadFile(filepath.Join(s.dir(), filepath.FromSlash(name)))
}

// Request is one fetch of a script.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
}

// Response answers a Request. Body was capped by whoever read it.
type Response struct {
	Status int
	URL    string
	Header http.Header
	Body   []byte
}

// Options of a module. The zero value works: no cache, no fetch, no secrets.
type Options struct {
	// CacheDir keeps compiled modules; "" keeps none. The folder is made.
	// What is in it is run: it must be the owner's alone.
	CacheDir string
	// MemoryLimit of one runtime, bytes; 0 is 64 MiB.
	MemoryLimit int64
	// MaxVMs bounds the calls that run at once; others wait. 0 is 16.
	MaxVMs int
	// IdleAfter is when an unused runtime is closed; 0 is one minute.
	IdleAfter time.Duration
	// Grace is what a call gets to come back once its context ended, before
	// its runtime is given up; 0 is 250 ms.
	Grace time.Duration
	// CheckTimeout bounds validators, confirm, confirmLines and
	// confirmMessage; 0 is 5 s.
	CheckTimeout time.Duration
	// OutputCap bounds a result, bytes; 0 is [tool.DefaultOutputCap].
	OutputCap int
	// TimeZone of Intl and toLocaleString; nil is [time.Local].
	TimeZone *time.Location
	// Fetch makes a script's requests, under the guard and allow-list of
	// http tools; nil: fetch fails. An error with a method
	// OutcomeUnknown() bool that says true marks a request that may have
	// taken effect.
	Fetch func(ctx context.Context, req Request) (Response, error)
	// DB are the data sources of ctx.db; nil: there are none.
	DB Databases
	// Secret looks up ctx.secret(name); nil: there are none. What was
	// given out is masked in all that leaves the script but its requests and
	// statements.
	Secret func(name string) (secret.String, error)
	// Long hears of each call that computes for long: 1 when it begins to be
	// one, -1 when it has ended. Nil: nobody does.
	Long func(delta int)
	// Log is the operator's; nil drops.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.MemoryLimit = cmp.Or(max(o.MemoryLimit, 0), 64<<20)
	o.MaxVMs = cmp.Or(max(o.MaxVMs, 0), 16)
	o.IdleAfter = cmp.Or(max(o.IdleAfter, 0), time.Minute)
	o.Grace = cmp.Or(max(o.Grace, 0), 250*time.Millisecond)
	o.CheckTimeout = cmp.Or(max(o.CheckTimeout, 0), 5*time.Second)
	o.OutputCap = cmp.Or(max(o.OutputCap, 0), tool.DefaultOutputCap)
	if o.TimeZone == nil {
		o.TimeZone = time.Local
	}
	if o.Long == nil {
		o.Long = func(int) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
