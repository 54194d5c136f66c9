package sqltool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestMain(m *testing.M) {
	code := postgrestest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// opened is a source of a new, empty database.
func opened(t *testing.T, d Dialect) *Source {
	t.Helper()
	var url string
	if d == Postgres {
		url = postgrestest.URL(t)
	} else {
		path := filepath.Join(t.TempDir(), "a b%c?.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		url = "sqlite://" + path
	}
	return named(t, url)
}

func named(t *testing.T, url string) *Source {
	t.Helper()
	s, err := New("shop", secret.New(url), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// both runs a test on each kind of database.
func both(t *testing.T, f func(t *testing.T, s *Source)) {
	t.Helper()
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			f(t, opened(t, d))
		})
	}
}

var wide = Limits{Rows: 10_000, Bytes: 16 << 20}

// exec runs statements that must succeed.
func exec(t *testing.T, s *Source, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := run(t, s, text, "{}", true); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func run(t *testing.T, s *Source, text, params string, write bool) (Answer, error) {
	t.Helper()
	q, err := Parse(s.Dialect(), text)
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]json.RawMessage
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		t.Fatal(err)
	}
	return s.Run(t.Context(), Statement{Query: q, Params: p, Write: write, Limits: wide})
}

// rows is what a statement that reads gives, as JSON.
func rows(t *testing.T, s *Source, text, params string) string {
	t.Helper()
	a, err := run(t, s, text, params, false)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(a.Objects())
}

func kindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
