package channels

import "fmt"

// KeyError is a mistake at one key of a channel's configuration; the reader of
// the configuration adds the line.
type KeyError struct {
	key string
	err error
}

// WrongKey makes one. The text says what is wrong and what would be right, and
// holds no credential.
func WrongKey(key, format string, args ...any) error {
	return &KeyError{key, fmt.Errorf(format, args...)}
}

func (e *KeyError) Error() string { return e.err.Error() }
func (e *KeyError) Unwrap() error { return e.err }

// Key is the key that is wrong.
func (e *KeyError) Key() string { return e.key }
