package store

import (
	"context"
	"time"
)

// Tx is a running transaction. Queries are constants, with ?1, ?2 … for the
// arguments; a driver may keep them prepared. Where a row must be locked
// against other writers the query holds the comment /*lock*/.
type Tx interface {
	// Exec tells how many rows were changed.
	Exec(query string, args ...any) (int64, error)
	// Row scans the first row into dest; ok is false where there is none.
	Row(query string, args []any, dest ...any) (ok bool, err error)
	// Rows calls each for every row.
	Rows(query string, args []any, each func(scan func(dest ...any) error) error) error
}

// DB runs transactions.
type DB interface {
	// Write commits what fn did, or nothing when fn returns an error, which
	// is then returned as it is. It returns once the commit is durable. fn
	// may run together with others in one commit, and may run again. lane
	// names the row that fn is about: writes of one lane never overlap.
	//
	// An error that says the database can't be written now wraps
	// inbox.ErrUnavailable.
	Write(ctx context.Context, lane string, fn func(Tx) error) error
	// Later is Write for cleaning up: others go first.
	Later(ctx context.Context, fn func(Tx) error) error
	// Read runs fn on a snapshot that can't be written.
	Read(ctx context.Context, fn func(Tx) error) error
	// Peek runs fn, which makes one query at the most, without a snapshot.
	Peek(ctx context.Context, fn func(Tx) error) error
	// Now is the database's clock.
	Now() time.Time
	// Claims keeps which lanes this process works on.
	Claims() Claims
	Close() error
}

// Claims keeps who works on which lane, for drivers that admit one process and
// so need no commit for it. It is nil where leases are rows.
type Claims interface {
	// Take returns false where the lane is taken.
	Take(lane string) bool
	Drop(lane string)
	Taken(lane string) bool
}

// Store implements every call on one database.
type Store struct{ db DB }

// New makes the store of a database.
func New(db DB) *Store { return &Store{db: db} }

// Close ends the database. Calls under way are finished first.
func (s *Store) Close() error { return s.db.Close() }

// Now is the store's clock, the one that expiry goes by.
func (s *Store) Now() time.Time { return s.db.Now() }

// write runs fn in one commit, with the commit's time.
func write[T any](ctx context.Context, s *Store, lane string, fn func(Tx, time.Time) (T, error)) (T, error) {
	var out T
	err := s.db.Write(ctx, lane, func(tx Tx) (err error) {
		out, err = fn(tx, s.db.Now())
		return err
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return out, nil
}

// read runs fn on a snapshot.
func read[T any](ctx context.Context, s *Store, fn func(Tx, time.Time) (T, error)) (T, error) {
	var out T
	err := s.db.Read(ctx, func(tx Tx) (err error) {
		out, err = fn(tx, s.db.Now())
		return err
	})
	return out, err
}

// peek is read for a single query.
func peek[T any](ctx context.Context, s *Store, fn func(Tx, time.Time) (T, error)) (T, error) {
	var out T
	err := s.db.Peek(ctx, func(tx Tx) (err error) {
		out, err = fn(tx, s.db.Now())
		return err
	})
	return out, err
}

// none is for writes that return nothing.
type none struct{}

func ms(t time.Time) int64 { return t.UnixMilli() }

func fromMS(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMilli(v).UTC()
}
