package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestNew_WrongURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "shop.db", "mysql://u:canary@h/x", "sqlite://", "postgres://u:canary@h:port/x", "postgres://u:canary@h/x?sslmode=canary"} {
		_, err := New("shop", secret.New(url), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "data.shop: ") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestRun_ParametersAreValuesOnly(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table orders (id integer primary key, customer text, note text)",
			"insert into orders values (1, 'ana', 'x'), (2, 'bo', 'y')")
		const q = "select id from orders where customer = :customer and (:note is not null or note <> '')"
		text := strings.ReplaceAll(q, ":note", "cast(:note as text)")
		for customer, want := range map[string]string{
			`"ana"`: `[{"id":1}]`, `"' or '1'='1"`: `[]`, `"ana'; drop table orders; --"`: `[]`, `"ana\u0000"`: `[]`, `null`: `[]`, `"bo"`: `[{"id":2}]`,
		} {
			if got := rows(t, s, text, `{"customer":`+customer+`}`); got != want {
				t.Errorf("%s: %s, want %s", customer, got, want)
			}
		}
		if got := rows(t, s, "select count(*) as n from orders", `{}`); got != `[{"n":2}]` {
			t.Errorf("after it: %s", got)
		}
	})
}

// Values come back as they went in, or as close as the database has them.
func TestRun_ValuesWithoutLoss(t *testing.T) {
	t.Parallel()
	type c struct{ expr, param, want string }
	common := []c{
		{"cast(:v as bigint)", `9223372036854775807`, `9223372036854775807`},
		{"cast(:v as bigint)", `-9007199254740993`, `-9007199254740993`},
		{"cast(:v as integer)", `1.0`, `1`},
		{"cast(:v as integer)", `1e2`, `100`},
		{"cast(:v as text)", `"línea\n\"x\" \\ 🙂"`, `"línea\n\"x\" \\ 🙂"`},
		{"cast(:v as text)", `""`, `""`},
		{"cast(:v as text)", `null`, `null`},
		{"null", `null`, `null`},
	}
	of := map[Dialect][]c{
		SQLite: {
			{":v", `0.1`, `0.1`},
			{":v", `1.50`, `1.5`},
			{":v", `0.1000000000000000055511151231257827021181583404541015625001`, `"0.1000000000000000055511151231257827021181583404541015625001"`},
			{":v", `12345678901234567890123`, `"12345678901234567890123"`},
			{":v", `true`, `1`},
			{"json_extract(:v, '$.a[1]')", `{"a":[1,"x"]}`, `"x"`},
			{"(select group_concat(value) from json_each(:v))", `[1,2,3]`, `"1,2,3"`},
			{"x'00ff'", `null`, `"AP8="`},
			{"1e999", `null`, `"+Inf"`},
			{"cast(x'ff41' as text)", `null`, `"�A"`},
		},
		Postgres: {
			{":v::numeric", `0.10000000000000000000000000000000000001`, `"0.10000000000000000000000000000000000001"`},
			{":v::numeric(20,2)", `1.5`, `"1.50"`},
			{":v::numeric", `"NaN"`, `"NaN"`},
			{":v::float8", `0.1`, `0.1`},
			{":v::float8", `1e20`, `1e+20`},
			{":v::float8", `"Infinity"`, `"Infinity"`},
			{":v::boolean", `true`, `true`},
			{":v::boolean", `"no"`, `false`},
			{":v::jsonb", `{"a":[1,"x",12345678901234567890.10]}`, `{"a":[1,"x",12345678901234567890.10]}`},
			{":v::jsonb", `"text"`, `"text"`},
			{":v::json", `null`, `null`},
			{":v::int[]", `[1,2,null]`, `[1,2,null]`},
			{":v::text[]", `["a\"b","c,d","{e}","\\",""]`, `["a\"b","c,d","{e}","\\",""]`},
			{":v::int[]", `[[1,2],[3,4]]`, `[[1,2],[3,4]]`},
			{":v::int[]", `[]`, `[]`},
			{":v::int[]", `[[[1],[null]],[[3],[4]]]`, `[[[1],[null]],[[3],[4]]]`},
			{":v::text[]", `["NULL",null," ","ñ\nx","{\"a\",}"]`, `["NULL",null," ","ñ\nx","{\"a\",}"]`},
			{":v::text[]", `"[0:1]={a,b}"`, `["a","b"]`},
			{":v::bool[]", `[true,false,null]`, `[true,false,null]`},
			{":v::float8[]", `"{1.5,NaN}"`, `[1.5,"NaN"]`},
			{":v::bytea[]", `"{\"\\\\x00ff\"}"`, `["AP8="]`},
			{":v::timestamp[]", `["2026-02-28 10:11:12"]`, `["2026-02-28T10:11:12"]`},
			{":v::box[]", `"{(1,1),(0,0);(2,2),(1,1)}"`, `["(1,1),(0,0)","(2,2),(1,1)"]`},
			{":v::int4range[]", `["[1,3)"]`, `["[1,3)"]`},
			{":v::numeric[]", `[1.10,2]`, `["1.1","2"]`},
			{":v::jsonb[]", `[{"a":1},[2],"x"]`, `[{"a":1},[2],"x"]`},
			{"3 = any(:v::int[])", `[1,3]`, `true`},
			{":v::bytea", `"\\x00ff"`, `"AP8="`},
			{":v::date", `"2026-02-28"`, `"2026-02-28"`},
			{":v::timestamp", `"2026-02-28 10:11:12.5"`, `"2026-02-28T10:11:12.5"`},
			{"(:v::timestamptz)", `"2026-02-28T10:11:12.123456Z"`, `"2026-02-28T10:11:12.123456Z"`},
			{":v::timestamptz", `"infinity"`, `"infinity"`},
			{":v::uuid", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`, `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
			{":v::interval", `"1 day 02:00"`, `"1 day 02:00:00"`},
			{"('x', 1)", `null`, `"(x,1)"`},
		},
	}
	both(t, func(t *testing.T, s *Source) {
		if s.Dialect() == Postgres {
			s.driver.(*pgDriver).pool.cfg.RuntimeParams["timezone"] = "UTC"
		}
		for _, tc := range append(common, of[s.Dialect()]...) {
			got := rows(t, s, "select "+tc.expr+" as v", `{"v":`+tc.param+`}`)
			if want := `[{"v":` + tc.want + `}]`; got != want && !strings.Contains(tc.want, "Inf") || !json.Valid([]byte(got)) {
				t.Errorf("%s of %s: %s, want %s", tc.expr, tc.param, got, want)
			}
		}
	})
}

func TestRun_DeclaredTypesOfSQLite(t *testing.T) {
	t.Parallel()
	s := opened(t, SQLite)
	exec(t, s, "create table x (d date, dt datetime, b boolean, n decimal(10,2), t text)",
		"insert into x values ('2026-02-28', '2026-02-28 10:11:12', 1, 12.5, '2026-02-28'), (null, 'soon', 0, '12.50', 'x')")
	want := `[{"d":"2026-02-28","dt":"2026-02-28T10:11:12Z","b":true,"n":12.5,"t":"2026-02-28"},{"d":null,"dt":"soon","b":false,"n":12.5,"t":"x"}]`
	if got := rows(t, s, "select d, dt, b, n, t from x", "{}"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestRun_ColumnsOfOneName(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		if got, want := rows(t, s, `select 1 as a, 2 as a, 3 as a_2, 4 as "ü ""x"`, "{}"), `[{"a":1,"a_2":2,"a_2_2":3,"ü \"x":4}]`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Whatever a reading tool's statement is, it changes nothing.
func TestRun_E1_ReadOnlyMeansIt(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int)", "insert into x values (1)")
		for _, text := range []string{
			"insert into x values (2)", "update x set a = 3", "delete from x", "drop table x", "create table y (a int)",
			"insert into x values (4) returning a",
		} {
			if _, err := run(t, s, text, "{}", false); kindOf(err) != ReadOnly {
				t.Errorf("%s: %v", text, err)
			}
		}
		if s.Dialect() == Postgres {
			for _, text := range []string{"select set_config('transaction_read_only', 'off', true)", "select set_config('default_transaction_read_only', 'off', false)", "truncate x"} {
				_, _ = run(t, s, text, "{}", false) // whatever it says
			}
		}
		if _, err := run(t, s, "insert into x values (9)", "{}", false); kindOf(err) != ReadOnly {
			t.Errorf("after attempts at more: %v", err)
		}
		if got := rows(t, s, "select a from x", "{}"); got != `[{"a":1}]` {
			t.Errorf("it has now %s", got)
		}
	})
}

func TestRun_WritesAreOneTransaction(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int check (a < 10))", "insert into x values (1), (2)")
		a, err := run(t, s, "update x set a = a + :n", `{"n":5}`, true)
		if err != nil || a.Affected != 2 || a.Columns != nil {
			t.Errorf("%+v, %v", a, err)
		}
		a, err = run(t, s, "insert into x (a) values (:a), (3) returning a", `{"a":0}`, true)
		if err != nil || string(a.Objects()) != `[{"a":0},{"a":3}]` {
			t.Errorf("%s, %v", a.Objects(), err)
		}
		if _, err = run(t, s, "update x set a = a + 4", "{}", true); kindOf(err) != Constraint {
			t.Errorf("%v", err)
		}
		if got := rows(t, s, "select a from x order by a", "{}"); got != `[{"a":0},{"a":3},{"a":6},{"a":7}]` {
			t.Errorf("it has now %s", got)
		}
		// A cut of what comes back is no cut of what is done.
		q, _ := Parse(s.Dialect(), "update x set a = 5 returning a")
		a, err = s.Run(t.Context(), Statement{Query: q, Write: true, Limits: Limits{Rows: 1, Bytes: 100}})
		if err != nil || len(a.Rows) != 1 || !a.Cut {
			t.Errorf("%+v, %v", a, err)
		}
		if got := rows(t, s, "select count(*) as n from x where a = 5", "{}"); got != `[{"n":4}]` {
			t.Errorf("%s rows were changed", got)
		}
	})
}

func TestRun_KindsOfFailure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int primary key not null, t text)", "insert into x values (1, 'secretvalue')")
		common := map[string]Kind{
			"select * from nosuch": Refused, "selec 1": Refused, "insert into x values (1, 'secretvalue')": Constraint, "insert into x values (null, 'secretvalue')": Constraint,
		}
		own := map[Dialect]map[string]Kind{
			SQLite: {"select abs(-9223372036854775808)": Refused, "select zeroblob(9000000)": TooLarge},
			Postgres: {
				"select 1/0": BadValue, "select 'secretvalue'::int": BadValue, "select repeat('x', 9000000)": TooLarge,
				"select case when true then (select t::int from x) end": BadValue,
			},
		}[s.Dialect()]
		for _, list := range []map[string]Kind{common, own} {
			for text, want := range list {
				_, err := run(t, s, text, "{}", true)
				if kindOf(err) != want || strings.Contains(err.Error(), "secretvalue") {
					t.Errorf("%s: %v, want %s", text, err, want)
				}
			}
		}
		if got := rows(t, s, "select a from x", "{}"); got != `[{"a":1}]` { // also: the source still works
			t.Errorf("it has now %s", got)
		}
	})
}

// What the database's own code says is for whoever asked.
func TestRun_RaisedTexts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int)")
		if s.Dialect() == SQLite {
			p, err := s.driver.(*liteDriver).pool(true) // a trigger has semicolons
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Exec("create trigger no_more before insert on x begin select raise(abort, 'the day is full (really)'); end"); err != nil {
				t.Fatal(err)
			}
		} else {
			exec(t, s, "create function no() returns trigger language plpgsql as $$ begin raise exception 'the day is full (really)'; end $$",
				"create trigger no_more before insert on x for each row execute function no()")
		}
		_, err := run(t, s, "insert into x values (1)", "{}", true)
		e, _ := errors.AsType[*Error](err)
		if e == nil || e.Kind != Raised || e.Message != "the day is full (really)" || strings.Contains(e.Error(), "full") {
			t.Errorf("%v: %+v", err, e)
		}
	})
}

func TestRun_E5_ReadingIsBounded(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		endless := "with recursive n(i) as (select 1 union all select i + 1 from n) select i, 'xxxxxxxxxx' as t from n"
		q, err := Parse(s.Dialect(), endless)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []Limits{{Rows: 3, Bytes: 1 << 20}, {Rows: 1 << 20, Bytes: 80}} {
			a, err := s.Run(t.Context(), Statement{Query: q, Limits: l})
			if err != nil || !a.Cut || len(a.Rows) != 3 {
				t.Errorf("%+v: %d rows, cut %v, %v", l, len(a.Rows), a.Cut, err)
			}
		}
		if got := rows(t, s, "select 1 as a", "{}"); got != `[{"a":1}]` {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// The end of a context ends the statement, also in the server, and nothing of
// it stays.
func TestRun_A5_TheEndOfTimeCancels(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int)")
		slow := "insert into x with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
		if s.Dialect() == Postgres {
			slow = "with a as (insert into x values (1) returning a) select pg_sleep(600), a from a"
		}
		q, err := Parse(s.Dialect(), slow)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := s.Run(ctx, Statement{Query: q, Write: true, Limits: wide}); kindOf(err) != Stopped || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if _, err := s.Run(ctx, Statement{Query: q, Write: true, Limits: wide}); kindOf(err) != Stopped {
			t.Errorf("under an ended context: %v", err)
		}
		if got := rows(t, s, "select a from x", "{}"); got != `[]` {
			t.Errorf("it has now %s", got)
		}
		if s.Dialect() == Postgres {
			if got := rows(t, s, "select count(*) as n from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active' and pid <> pg_backend_pid()", "{}"); got != `[{"n":0}]` {
				t.Errorf("the server still runs %s", got)
			}
		}
	})
}

func TestRun_ManyAtOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int)")
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if _, err := run(t, s, "insert into x values (:a)", fmt.Sprintf(`{"a":%d}`, i), true); err != nil {
					t.Error(err)
				}
				if got := rows(t, s, "select cast(:a as integer) as a", fmt.Sprintf(`{"a":%d}`, i)); got != fmt.Sprintf(`[{"a":%d}]`, i) {
					t.Errorf("%d: %s", i, got)
				}
			})
		}
		wg.Wait()
		if got := rows(t, s, "select count(distinct a) as n from x", "{}"); got != `[{"n":30}]` {
			t.Error(got)
		}
		if s.Dialect() == Postgres {
			if got := rows(t, s, "select count(*) <= 4 as few from pg_stat_activity where datname = current_database()", "{}"); got != `[{"few":true}]` {
				t.Error("more connections than may be")
			}
		}
	})
}

// A commit that isn't answered may have happened.
func TestRun_G4_LostCommitIsUnknown(t *testing.T) {
	t.Parallel()
	s := opened(t, Postgres)
	exec(t, s, "create table x (a int)",
		// It runs at the commit, and takes the connection away in it.
		"create function lose() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$",
		"create constraint trigger lost after insert on x deferrable initially deferred for each row execute function lose()")
	_, err := run(t, s, "insert into x values (1)", "{}", true)
	// The server says goodbye with an error of its own class before it goes.
	if k := kindOf(err); k != Unknown && k != Unavailable {
		t.Errorf("%v", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// What isn't an array as PostgreSQL writes them stays a text.
func TestArrayJSON_Broken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{", "}", "{1", "{1,", "{1,}", "{,1}", `{"a`, `{"a\`, `{"a"b}`, "{1}2", "{{1}", "[0:1]", "[0:1]=", "[0:1]{1}", "1,2", "{1;2{",
		strings.Repeat("{", 1<<20), strings.Repeat("{", 7) + "1" + strings.Repeat("}", 7),
	} {
		if got := arrayJSON(text, pgtype.TextArrayOID, pgtype.TextOID); string(got) != string(quote(text)) {
			t.Errorf("%.40s: %.40s", text, got)
		}
	}
}

// URLs made for pgx have settings of its pool: the server would refuse them.
func TestRun_SettingsOfOtherPools(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("pool_max_conns", "7")
	q.Set("pool_max_conn_idle_time", "1m")
	q.Set("default_query_exec_mode", "exec")
	q.Set("statement_cache_capacity", "0")
	q.Set("application_name", "shop")
	u.RawQuery = q.Encode()
	if got := rows(t, named(t, u.String()), "select current_setting('application_name') as a", "{}"); got != `[{"a":"shop"}]` {
		t.Error(got)
	}
}

// A connection that the server ended while nobody used it isn't given out.
func TestRun_LostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	address := postgrestest.URL(t)
	s := named(t, address)
	s.driver.(*pgDriver).pool.fresh = 0 // asked at each use, not only after a pause
	pid := "select pg_backend_pid() as pid"
	first := rows(t, s, pid, "{}")
	if again := rows(t, s, pid, "{}"); again != first {
		t.Errorf("a connection isn't used again: %s, %s", first, again)
	}
	ended := rows(t, named(t, address), "select bool_and(pg_terminate_backend(pid, 60000)) as ended from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()", "{}")
	if ended != `[{"ended":true}]` {
		t.Fatal(ended)
	}
	if now := rows(t, s, pid, "{}"); now == first {
		t.Errorf("the dead connection %s is still there", now)
	}
}

func TestPing_TellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"sqlite://" + filepath.Join(t.TempDir(), "none.db"), "postgres://u:canary@127.0.0.1:1/x?connect_timeout=2"} {
		s := named(t, url)
		err := s.Ping(t.Context())
		if kindOf(err) != Unavailable || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := run(t, s, "create table x (a int)", "{}", true); kindOf(err) != Unavailable {
			t.Errorf("%s: %v", url, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := run(t, s, "select 1", "{}", false); kindOf(err) != Unavailable {
			t.Errorf("%s, closed: %v", url, err)
		}
	}
	both(t, func(t *testing.T, s *Source) {
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCollector_KeepsTheFirstRow(t *testing.T) {
	t.Parallel()
	c := collector{limits: Limits{Rows: 5, Bytes: 10}}
	c.columns([]string{"a"})
	if c.add([]json.RawMessage{json.RawMessage(`"longer than ten bytes"`)}) != true || c.add([]json.RawMessage{json.RawMessage(`1`)}) {
		t.Errorf("%+v", c.answer)
	}
	if d := cmp.Diff([]string{"a"}, c.answer.Columns); d != "" || !c.answer.Cut {
		t.Error(d)
	}
}
