package tree

import (
	"strings"
	"testing"
)

// env is the environment of the tests here.
func env(name string) (string, bool) {
	v, ok := map[string]string{"KEY": "sk-canary-1", "N": "7", "EMPTY": ""}[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   "",
		"plain $5 and {x}":   "plain $5 and {x}",
		"${KEY}":             "sk-canary-1",
		"a${N}b${N}c":        "a7b7c",
		"${GONE:-d}":         "d",
		"${GONE:-}":          "",
		"${EMPTY:-d}":        "d",
		"${EMPTY}":           "",
		"$${KEY}":            "${KEY}",
		"$${a} ${N} $${":     "${a} 7 ${",
		"${N:-${X}}":         "7}",
		"${GONE}":            "!environment variable GONE is not set",
		"${":                 `!"${" without "}"`,
		"${}":                `!"${}" is no variable`,
		"${1A}":              `!"${1A}" is no variable`,
		"${A B:-x}":          `!"${A B:-x}" is no variable`,
		"ok ${N} then ${No}": "!environment variable No is not set",
	} {
		got, bad := Expand(in, env)
		if wantBad, isBad := strings.CutPrefix(want, "!"); isBad {
			if !strings.HasPrefix(bad, wantBad) {
				t.Errorf("%q: got %q, want %q", in, bad, wantBad)
			}
		} else if got != want || bad != "" {
			t.Errorf("%q: got %q %q, want %q", in, got, bad, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"listen", "public_url", "timeout", "to", "window"}
	for in, want := range map[string]string{
		"lisetn": "listen", "Listen": "listen", "publicUrl": "public_url", "public-url": "public_url",
		"timout": "timeout", "xyzzyq": "", "t": "", "windows": "window", strings.Repeat("l", 1000): "",
	} {
		if got := nearest(in, keys); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
