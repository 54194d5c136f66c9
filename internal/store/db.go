package store

import (
	"context"
	"errors"
	"time"
)

// Tx is a running transaction. Queries are constants, with ?1, ?2 … for the
// arguments; a driver may keep them prepared. Where rows must be locked against
// other writers the query ends with the comment /*lock*/, or /*lock skip*/ where
// those that are locked already are to be left out.
//
// Locks are taken in one order, so that transactions wait for each other but
// never in a circle: the message's dedupe row; lanes, in key order; the chat;
// then what the chat's lock is for as well: its questions, outbox and log; last
// the audit.
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
	// Owner names this process in the leases of lanes, which are rows where
	// several processes share the database. "" says that there is no other: a
	// claim then needs no commit.
	Owner() string
	Close() error
}

// Store implements every call on one database. A process has one of it.
type Store struct {
	db     DB
	claims claims
	// served are the channels whose lanes are worked on, each between bars;
	// "" is all.
	served string
}

// New makes the store of a database.
func New(db DB) *Store { return &Store{db: db} }

// Close gives leases back and ends the database. Calls under way are finished
// first.
func (s *Store) Close() error { return errors.Join(s.leave(), s.db.Close()) }

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
