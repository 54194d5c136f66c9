package tool

import "errors"

// KeyError is a mistake in the section that a tool is made from, at one of
// that section's keys.
type KeyError struct {
	key string
	err error
}

// At says of an error that it is about key, a dotted path such as status.404.
// Of joined errors each is; nil stays nil.
func At(key string, err error) error {
	if err == nil {
		return nil
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return &KeyError{key, err}
	}
	var each []error
	for _, one := range many.Unwrap() {
		each = append(each, At(key, one))
	}
	return errors.Join(each...)
}

// Key is the dotted path of the key.
func (e *KeyError) Key() string { return e.key }

func (e *KeyError) Error() string { return e.err.Error() }

func (e *KeyError) Unwrap() error { return e.err }
