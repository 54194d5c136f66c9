package tree

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/problem"
)

// Pos says where something was configured.
type Pos struct {
	File string
	// Line and Col count from 1; 0 is unknown.
	Line, Col int
	// Origin is set, in place of the rest, where the value is no file's:
	// "environment PARLEY_SERVER_LISTEN", "flag --listen".
	Origin string
}

// String is file:line:column, as editors and terminals understand it.
func (p Pos) String() string {
	switch {
	case p.Origin != "":
		return p.Origin
	case p.Line == 0:
		return p.File
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

// Error is one thing wrong with a configuration. Its text never holds the
// value of a secret or of an environment variable.
type Error struct {
	Pos Pos
	Msg string
	// ID is the mistake's number, which the text ends in.
	ID problem.ID
}

func (e Error) Error() string { return e.Pos.String() + ": " + e.Msg + " [" + string(e.ID) + "]" }

// Problem implements problem.Numbered.
func (e Error) Problem() problem.ID { return e.ID }

// MaxErrors bounds what a hostile file can make of a report.
const MaxErrors = 100

// Errors is all that is wrong with a configuration, in the order of the file.
type Errors struct { //nolint:errname // it is a list of them
	List []Error
	// More counts what was left out past the first hundred.
	More int
}

// Error prints one mistake a line.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, one := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n… and %d more", e.More)
	}
	return b.String()
}

// Unwrap gives the single errors to errors.Is and errors.As.
func (e *Errors) Unwrap() []error {
	out := make([]error, len(e.List))
	for i, one := range e.List {
		out[i] = one
	}
	return out
}

// Problem implements problem.Numbered: the first mistake's id.
func (e *Errors) Problem() problem.ID { return e.List[0].ID }

// Report collects errors while a configuration is read.
type Report struct {
	List []Error
	more int
}

// Addf reports a mistake at a place, once.
func (r *Report) Addf(id problem.ID, at Pos, format string, args ...any) {
	if len(r.List) >= MaxErrors {
		r.more++
		return
	}
	e := Error{Pos: at, Msg: fmt.Sprintf(format, args...), ID: id}
	if !slices.Contains(r.List, e) {
		r.List = append(r.List, e)
	}
}

// Merge adds what was reported elsewhere; false where err is no list of mistakes.
func (r *Report) Merge(err error) bool {
	many, ok := errors.AsType[*Errors](err)
	if !ok {
		return false
	}
	for _, e := range many.List {
		r.Addf(e.ID, e.Pos, "%s", e.Msg)
	}
	r.more += many.More
	return true
}

// Err is an *Errors, or nil when nothing was reported.
func (r *Report) Err() error {
	if len(r.List) == 0 {
		return nil
	}
	list := slices.Clone(r.List)
	order := map[string]int{}
	for _, e := range list {
		if _, ok := order[e.Pos.File]; !ok {
			order[e.Pos.File] = len(order)
		}
	}
	slices.SortStableFunc(list, func(a, b Error) int {
		return cmp.Or(
			cmp.Compare(order[a.Pos.File], order[b.Pos.File]),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
		)
	})
	return &Errors{List: list, More: r.more}
}
