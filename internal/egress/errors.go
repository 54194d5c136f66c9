package egress

import (
	"errors"
	"fmt"
)

// Class says what is known of a request that brought no answer.
type Class string

// The classes.
const (
	// Refused: the guard didn't let it go, or didn't follow a redirect; what
	// came before certainly had no effect.
	Refused Class = "refused"
	// NotSent: certainly not sent (no such host, no connection, no TLS).
	NotSent Class = "not_sent"
	// Unknown: it may have reached the host; no whole answer came back.
	Unknown Class = "unknown"
)

// Error is an exchange that failed. Its text names the host, never the path,
// the query, a header or the body.
type Error struct {
	Class Class
	// Host is host or host:port of the URL, as far as it was one.
	Host string
	Err  error
}

func (e *Error) Error() string {
	if e.Host == "" {
		return fmt.Sprintf("request %s: %v", e.Class, e.Err)
	}
	return fmt.Sprintf("request to %s %s: %v", e.Host, e.Class, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// OutcomeUnknown tells whether a request with effects may have had them.
func (e *Error) OutcomeUnknown() bool { return e.Class == Unknown }

// Timeout tells whether the time ran out, for net.Error's sake.
func (e *Error) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Err)
	return ok && t.Timeout()
}

// ClassOf tells the class of err; an error that isn't from here is Unknown.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Unknown
}

func refused(host, format string, args ...any) *Error {
	return &Error{Class: Refused, Host: host, Err: fmt.Errorf(format, args...)}
}
