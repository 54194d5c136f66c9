package postgrestest

import (
	"net/url"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestURL_EachTestHasADatabase(t *testing.T) {
	t.Parallel()
	query := func(raw, sql string) string {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		out, err := shared.s.program(t.Context(), "psql", "-h", u.Query().Get("host"), "-U", u.User.Username(), "-d", strings.TrimPrefix(u.Path, "/"), "-Atc", sql).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	a, b := URL(t), URL(t)
	query(a, "create table only_here (x int)")
	if got := query(b, "select count(*) from pg_tables where tablename = 'only_here'"); got != "0" {
		t.Errorf("another database has the table too: %s", got)
	}
	if got := query(a, "select usesuper from pg_user where usename = current_user"); got != "t" {
		t.Errorf("superuser: %s", got)
	}
}
