package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/parley-bot/parley/internal/store"
)

// tx is a transaction on a connection; pgx keeps its statements prepared.
type tx struct {
	ctx   context.Context
	c     *pgx.Conn
	write bool
}

// Exec implements store.Tx.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	tag, err := t.c.Exec(t.ctx, translated(query, t.write), bind(args)...)
	return tag.RowsAffected(), err
}

// Row implements store.Tx.
func (t *tx) Row(query string, args []any, dest ...any) (bool, error) {
	rows, err := t.c.Query(t.ctx, translated(query, t.write), bind(args)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := scan(rows, dest); err != nil {
		return false, err
	}
	rows.Close()
	return rows.Err() == nil, rows.Err()
}

// Rows implements store.Tx. each may make no query.
func (t *tx) Rows(query string, args []any, each func(scan func(dest ...any) error) error) error {
	rows, err := t.c.Query(t.ctx, translated(query, t.write), bind(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(func(dest ...any) error { return scan(rows, dest) }); err != nil {
			return err
		}
	}
	return rows.Err()
}

// PostgreSQL's texts can't have the byte 0. It is written as a character for
// private use and a digit.
const escape = "\uE000"

var (
	escaper   = strings.NewReplacer("\x00", escape+"0", escape, escape+"1") //nolint:gochecknoglobals // constant
	unescaper = strings.NewReplacer(escape+"0", "\x00", escape+"1", escape) //nolint:gochecknoglobals // constant
)

// bind makes texts such that PostgreSQL takes them: without the byte 0, and
// valid UTF-8.
func bind(args []any) []any {
	own := false
	for i, a := range args {
		s, ok := a.(string)
		if !ok || utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.Contains(s, escape) {
			continue
		}
		if !own {
			args, own = append([]any(nil), args...), true
		}
		args[i] = escaper.Replace(strings.ToValidUTF8(s, "\uFFFD"))
	}
	return args
}

// scan is the reverse of bind.
func scan(rows pgx.Rows, dest []any) error {
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	for _, d := range dest {
		switch d := d.(type) {
		case *string:
			if strings.Contains(*d, escape) {
				*d = unescaper.Replace(*d)
			}
		case *any:
			if s, ok := (*d).(string); ok && strings.Contains(s, escape) {
				*d = unescaper.Replace(s)
			}
		}
	}
	return nil
}

// translations are kept by the store's query: those are constants.
var translations [2]sync.Map //nolint:gochecknoglobals // a cache of a pure function

func translated(query string, write bool) string {
	cache := &translations[0]
	if write {
		cache = &translations[1]
	}
	if q, ok := cache.Load(query); ok {
		return q.(string) //nolint:errcheck,forcetypeassert // only strings are kept
	}
	q := translate(query, write)
	cache.Store(query, q)
	return q
}

// translate makes ?1 of the store's dialect $1, and the comments that ask for
// locks clauses; what only reads takes none.
func translate(query string, write bool) string {
	lock, skip := "", ""
	if write {
		lock, skip = "FOR UPDATE", "FOR UPDATE SKIP LOCKED"
	}
	query = strings.NewReplacer("/*lock*/", lock, "/*lock skip*/", skip).Replace(query)
	var out strings.Builder
	quoted := false
	for _, r := range query {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == '?' && !quoted:
			r = '$'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// protect makes a panic of fn an error: the connection must be given back.
func protect(fn func(store.Tx) error, t store.Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(t)
}

var errRolledBack = errors.New("the server rolled the transaction back")
