package sqlite

import (
	"database/sql"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"
)

// Databases that goose itself made, at every version, are taken up where they
// are; what comes out is what goose would have made.
func TestMigrate_AsGooseDoes(t *testing.T) {
	t.Parallel()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	made := pool(t)
	p, err := goose.NewProvider(goose.DialectSQLite3, made, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, numbers := schema(t, made), applied(t, made)
	last := numbers[len(numbers)-1]
	if last == 0 || len(want) < 10 {
		t.Fatalf("goose made version %d with %d tables", last, len(want))
	}
	for from := range last + 1 {
		db := pool(t)
		p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
		if err != nil {
			t.Fatal(err)
		}
		if from > 0 {
			if _, err := p.UpTo(t.Context(), from); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second time there is nothing to do
			if err := migrate(t.Context(), db, migrations); err != nil {
				t.Fatalf("from version %d: %v", from, err)
			}
		}
		if d := cmp.Diff(want, schema(t, db)); d != "" {
			t.Errorf("from version %d (-goose, +ours):\n%s", from, d)
		}
		if d := cmp.Diff(numbers, applied(t, db)); d != "" {
			t.Errorf("from version %d: numbers (-goose, +ours):\n%s", from, d)
		}
		if pending, err := p.HasPending(t.Context()); err != nil || pending {
			t.Errorf("from version %d: goose sees something left to do: %v, %v", from, pending, err)
		}
	}
}

// A file that fails leaves nothing of itself; those before it stay, and a
// mended one is applied the next time.
func TestMigrate_OneThatFails(t *testing.T) {
	t.Parallel()
	file := func(sql string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql + "\n-- +goose Down\nDROP TABLE a;\n")}
	}
	files := fstest.MapFS{
		"migrations/00001_a.sql": file("CREATE TABLE a (x TEXT); CREATE TABLE b (x TEXT);"),
		"migrations/00002_c.sql": file("CREATE TABLE c (x TEXT); CREATE TABLE a (x TEXT);"),
	}
	db := pool(t)
	err := migrate(t.Context(), db, files)
	if err == nil || !strings.Contains(err.Error(), "00002_c.sql") || !strings.Contains(err.Error(), "table a already exists") {
		t.Fatalf("error %v", err)
	}
	if _, there := schema(t, db)["c"]; there {
		t.Error("half a migration is there")
	}
	if d := cmp.Diff([]int64{0, 1}, applied(t, db)); d != "" {
		t.Errorf("numbers:\n%s", d)
	}
	files["migrations/00002_c.sql"] = file("CREATE TABLE c (x TEXT);")
	if err := migrate(t.Context(), db, files); err != nil {
		t.Fatal(err)
	}
	if _, there := schema(t, db)["c"]; !there {
		t.Error("the mended one isn't applied")
	}
}

func pool(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", source(file(t), true))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// schema is the SQL that made each table and index, by name.
func schema(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	query(t, db, `SELECT name, coalesce(sql, '') FROM sqlite_master`, func(rows *sql.Rows) error {
		var name, text string
		err := rows.Scan(&name, &text)
		out[name] = text
		return err
	})
	return out
}

// applied is the numbers in the table of versions, in the order they came.
func applied(t *testing.T, db *sql.DB) []int64 {
	t.Helper()
	var out []int64
	query(t, db, `SELECT version_id FROM goose_db_version WHERE is_applied ORDER BY id`, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		out = append(out, n)
		return err
	})
	return out
}

func query(t *testing.T, db *sql.DB, text string, each func(*sql.Rows) error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
