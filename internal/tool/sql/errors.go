package sqltool

import (
	"context"
	"errors"
	"fmt"
)

// Kind says what is known of a statement that failed.
type Kind string

// The kinds. But for Unknown, nothing was changed.
const (
	Refused     Kind = "query_failed"         // the database doesn't take the statement
	Constraint  Kind = "constraint_violation" // nor these values
	BadValue    Kind = "invalid_value"        // a value doesn't fit its type
	ReadOnly    Kind = "read_only"            // it would have written
	Raised      Kind = "raised"               // the database's own code says no; Message is its text
	Busy        Kind = "database_busy"        // locked, or in a conflict with another one
	Unavailable Kind = "database_unavailable" // not reached
	TooLarge    Kind = "too_large"            // a value is beyond what is read
	Stopped     Kind = "stopped"              // the context ended
	Unknown     Kind = "outcome_unknown"      // the commit was sent and not answered
)

// Error is a statement that failed. Its text has neither values nor a password.
type Error struct {
	Kind Kind
	// Code is the database's: an SQLSTATE, or SQLite's number.
	Code string
	// Message is what Raised says, for whoever asked.
	Message string
	Err     error // nil where its text might quote values
}

func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", s, e.Err)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Told is what a model may be told: no names of tables, no values.
func (e *Error) Told() string {
	if e.Kind == Raised {
		return e.Message
	}
	return e.Kind.message()
}

// OutcomeUnknown tells whether the statement may have taken effect.
func (e *Error) OutcomeUnknown() bool { return e.Kind == Unknown }

// stopped is err where the context didn't end first.
func stopped(ctx context.Context, err *Error) *Error {
	if ctx.Err() != nil && err.Kind != Unknown {
		return &Error{Kind: Stopped, Code: err.Code, Err: context.Cause(ctx)}
	}
	return err
}

// asError is what the drivers give.
func asError(ctx context.Context, err error, classify func(error) *Error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return stopped(ctx, e)
	}
	return stopped(ctx, classify(err))
}
