// Package secret has a string that masks itself wherever it is printed, and
// masks for what others say that were told one.
//
// It owns nothing else: where secrets come from is internal/config, and whose
// words are masked is for whoever hears them.
package secret

// String is a credential. fmt, slog, JSON and YAML show *** in its place;
// Reveal gives the value, for the one call that needs it.
type String struct{ v string }

const mask = "***"

// New wraps a credential.
func New(v string) String { return String{v} }

// Reveal returns the credential itself.
func (s String) Reveal() string { return s.v }

// Empty tells whether there is none.
func (s String) Empty() bool { return s.v == "" }

func (s String) String() string {
	if s.v == "" {
		return ""
	}
	return mask
}

// GoString masks %#v.
func (s String) GoString() string { return `secret.String("` + s.String() + `")` }

// MarshalText masks JSON, YAML and slog.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the credential as it is.
func (s *String) UnmarshalText(b []byte) error { s.v = string(b); return nil }
