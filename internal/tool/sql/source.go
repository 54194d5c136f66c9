package sqltool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-bot/parley/internal/secret"
)

// Options of a data source. The zero value of each is its default.
type Options struct {
	// MaxConns is how many statements run at once; others wait. 4.
	MaxConns int
}

// Source is one database that tools may use. It is safe for use by many
// goroutines, connects when a statement needs it, and must be closed.
type Source struct {
	name   string
	driver driver
}

// driver is a kind of database.
type driver interface {
	dialect() Dialect
	// run makes one statement in a transaction of its own, and commits it.
	run(ctx context.Context, j job) error
	ping(ctx context.Context) error
	close() error
}

// job is one statement with its values, nil for null.
type job struct {
	query Query
	args  []json.RawMessage
	write bool
	rows  *collector
}

// New describes a data source: sqlite://FILE, which must be there when it is
// used, or postgres://…. It does no I/O. The error holds nothing of the URL.
func New(name string, url secret.String, o Options) (*Source, error) {
	o.MaxConns = cmp.Or(max(o.MaxConns, 0), 4)
	raw := url.Reveal()
	s := &Source{name: name}
	var err error
	switch {
	case strings.HasPrefix(raw, "sqlite://"):
		s.driver, err = newSQLite(strings.TrimPrefix(raw, "sqlite://"), o)
	case strings.HasPrefix(raw, "postgres://"), strings.HasPrefix(raw, "postgresql://"):
		s.driver, err = newPostgres(raw, o)
	default:
		err = errors.New("url must begin with sqlite:// or postgres://")
	}
	if err != nil {
		return nil, fmt.Errorf("data.%s: %w", name, err)
	}
	return s, nil
}

// Name is the source's in the configuration.
func (s *Source) Name() string { return s.name }

// Dialect is whose SQL it speaks.
func (s *Source) Dialect() Dialect { return s.driver.dialect() }

// Statement is one run of a parsed query.
type Statement struct {
	Query Query
	// Params are JSON values by name; what isn't there is null.
	Params map[string]json.RawMessage
	// Write lets it change data; else the transaction is read-only.
	Write  bool
	Limits Limits
}

// Run makes one statement in a transaction of its own. It ends with ctx: the
// statement is cancelled and nothing of it stays. A failure is an *[Error].
func (s *Source) Run(ctx context.Context, st Statement) (Answer, error) {
	c := &collector{limits: st.Limits}
	j := job{query: st.Query, write: st.Write, rows: c}
	for _, name := range st.Query.Names {
		raw := st.Params[name]
		if string(raw) == "null" {
			raw = nil
		}
		j.args = append(j.args, raw)
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, &Error{Kind: Stopped, Err: context.Cause(ctx)}
	}
	if err := s.driver.run(ctx, j); err != nil {
		return Answer{}, err
	}
	return c.answer, nil
}

// Ping connects, to prove that the source is there.
func (s *Source) Ping(ctx context.Context) error { return s.driver.ping(ctx) }

// Close ends its connections.
func (s *Source) Close() error { return s.driver.close() }
