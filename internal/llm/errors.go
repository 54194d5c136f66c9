package llm

import (
	"fmt"
	"time"
)

// Class says what to do about a model call that failed.
type Class string

// The classes.
const (
	// RateLimited, Overloaded, Temporary and Timeout are tried again, then
	// on the fallback models.
	RateLimited Class = "rate_limited" // 429
	Overloaded  Class = "overloaded"   // 503, 529
	Temporary   Class = "temporary"    // other 5xx, connection lost, stream cut
	Timeout     Class = "timeout"
	// ContextTooLong: the request is over the model's window.
	ContextTooLong Class = "context_too_long"
	// Auth, BadRequest and NoTools go straight to the fallback models.
	Auth       Class = "auth"        // 401, 403
	BadRequest Class = "bad_request" // other 4xx
	NoTools    Class = "no_tools"    // the model takes no tools
	// Filtered: the request itself was refused by a content filter.
	Filtered Class = "filtered"
	// Cancelled: the caller's context ended.
	Cancelled Class = "cancelled"
)

// Error is a failed model call. Its text holds no credential.
type Error struct {
	Class Class
	// Status is the HTTP status, or 0.
	Status int
	// After is Retry-After; 0 if the API didn't say.
	After    time.Duration
	Provider string
	Model    string
	Err      error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s/%s: %s (HTTP %d): %v", e.Provider, e.Model, e.Class, e.Status, e.Err)
	}
	return fmt.Sprintf("%s/%s: %s: %v", e.Provider, e.Model, e.Class, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable tells whether the same model may answer if asked again.
func (e *Error) Retryable() bool {
	switch e.Class {
	case RateLimited, Overloaded, Temporary, Timeout:
		return true
	default:
		return false
	}
}

// HasClass tells whether a call that err tells of failed with that class. Of a
// [Chain]'s error, which joins many, each is looked at.
func HasClass(err error, class Class) bool {
	if e, ok := err.(*Error); ok && e.Class == class { //nolint:errorlint // the tree is walked here
		return true
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if HasClass(inner, class) {
				return true
			}
		}
	case interface{ Unwrap() error }:
		return HasClass(e.Unwrap(), class)
	}
	return false
}
