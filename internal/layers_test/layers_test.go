// Package layers_test holds the program to its structure: which package may
// import which. It owns the table of layers and nothing else; a new package
// fails here until it has a place in the table.
package layers_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/parley-bot/parley/"

// layers lists the folders from the top down. A package may import packages
// of lower layers only; a sub-package may also import the packages its folder
// is in (internal/llm/openai → internal/llm).
func layers() [][]string {
	return [][]string{
		{"cmd", "e2e"},
		{"internal/app"},
		{
			"channels/telegram", "channels/discord", "channels/whatsappcloud", "channels/whatsappweb", "channels/twilio",
			"channels/webchat", "channels/console", "channels/channeltest",
			"internal/store", "internal/httpserver", "internal/control", "internal/config", "internal/metrics", "internal/watch",
		},
		{"internal/inbox", "internal/dispatch", "internal/turn", "internal/outbox", "internal/config/schema"},
		{
			"internal/llm", "internal/tool", "internal/confirm", "internal/render", "internal/ledger", "internal/audit",
			"internal/config/decode", "internal/config/override",
		},
		// What several of the layer above share.
		{"internal/locale", "internal/egress", "internal/lease", "internal/config/tree", "channels/platformtest"},
		{"channels", "internal/secret", "internal/problem", "internal/postgrestest", "configs", "docs"},
	}
}

// sqlHomes are the only folders that may speak to a database: the store, and
// the kind of tool whose purpose it is.
func sqlHomes() []string { return []string{"internal/store", "internal/tool/sql"} }

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath  string
	Imports     []string
	TestImports []string
	GoFiles     []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,GoFiles", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list knows only %d packages", len(all))
	}
	return all
}

// within tells whether folder is name or below it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// layerOf is the layer of the longest folder that holds name; -1 is none.
func layerOf(name string) int {
	best, longest := -1, 0
	for i, layer := range layers() {
		for _, folder := range layer {
			if within(name, folder) && len(folder) > longest {
				best, longest = i, len(folder)
			}
		}
	}
	return best
}

// isSuite tells whether a package is a test suite kept in a package of its own.
func isSuite(name string) bool { return strings.HasSuffix(path.Base(name), "test") }

// isSQL tells whether an import is a way to a database.
func isSQL(imp string) bool {
	return slices.ContainsFunc([]string{"database/sql", "modernc.org/sqlite", "github.com/jackc/pgx", "github.com/pressly/goose"}, func(p string) bool {
		return within(imp, p) || strings.HasPrefix(imp, p+"/v")
	})
}

// violations lists what a package imports and may not.
func violations(p pkg) []string {
	name := strings.TrimPrefix(p.ImportPath, module)
	mine := layerOf(name)
	if mine < 0 {
		return []string{"it has no place in the table of layers"}
	}
	var bad []string
	for _, imp := range p.Imports {
		other, ours := strings.CutPrefix(imp, module)
		switch {
		case ours && isSuite(other) && !isSuite(name):
			bad = append(bad, other+": a test suite in the program")
		case imp == "testing" && !isSuite(name):
			bad = append(bad, "testing: test code in the program")
		case isSQL(imp) && !slices.ContainsFunc(sqlHomes(), func(h string) bool { return within(name, h) }):
			bad = append(bad, imp+": SQL outside the store")
		case name == "channels" && strings.Contains(imp, "."):
			bad = append(bad, imp+": the contract of channels is standard library only")
		case ours && layerOf(other) <= mine && !strings.HasPrefix(name, other+"/"):
			bad = append(bad, other+": not a lower layer")
		}
	}
	// A test may use suites, but never what lies above what it tests. The
	// demo's files are tested by what reads them.
	if within(name, "configs") {
		return bad
	}
	for _, imp := range p.TestImports {
		other, ours := strings.CutPrefix(imp, module)
		if ours && !isSuite(other) && layerOf(other) < mine {
			bad = append(bad, other+": a higher layer, in a test")
		}
	}
	return bad
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		for _, v := range violations(p) {
			t.Errorf("%s imports %s", strings.TrimPrefix(p.ImportPath, module), v)
		}
	}
}

// TestRules shows that each rule can fail.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from, to string
		want     string
	}{
		"down":                    {"internal/turn", module + "internal/tool", ""},
		"to the ground":           {"channels/webchat", module + "channels", ""},
		"sub-package to parent":   {"internal/llm/openai", module + "internal/llm", ""},
		"suite to suite":          {"internal/store/storetest", "testing", ""},
		"store to its consumers":  {"internal/store/sqlite", module + "internal/inbox", ""},
		"up":                      {"internal/tool", module + "internal/turn", "internal/turn: not a lower layer"},
		"sideways":                {"internal/inbox", module + "internal/outbox", "internal/outbox: not a lower layer"},
		"parent to sub-package":   {"internal/llm", module + "internal/llm/openai", "internal/llm/openai: not a lower layer"},
		"sibling":                 {"internal/llm/openai", module + "internal/llm/script", "internal/llm/script: not a lower layer"},
		"adapter to adapter":      {"channels/telegram", module + "channels/discord", "channels/discord: not a lower layer"},
		"adapter to store":        {"channels/telegram", module + "internal/store", "internal/store: not a lower layer"},
		"contract to library":     {"channels", "github.com/google/uuid", "github.com/google/uuid: the contract of channels is standard library only"},
		"SQL elsewhere":           {"internal/turn", "database/sql", "database/sql: SQL outside the store"},
		"driver elsewhere":        {"internal/app", "github.com/jackc/pgx/v5/stdlib", "github.com/jackc/pgx/v5/stdlib: SQL outside the store"},
		"SQL in the store":        {"internal/store/sqlite", "modernc.org/sqlite", ""},
		"suite in the program":    {"internal/app", module + "channels/channeltest", "channels/channeltest: a test suite in the program"},
		"testing in the program":  {"internal/app", "testing", "testing: test code in the program"},
		"a package without place": {"internal/util", "fmt", "it has no place in the table of layers"},
	} {
		got := strings.Join(violations(pkg{ImportPath: module + tc.from, Imports: []string{tc.to}}), "; ")
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	up := violations(pkg{ImportPath: module + "internal/tool", TestImports: []string{module + "internal/app", module + "internal/tool/tooltest"}})
	if !slices.Equal(up, []string{"internal/app: a higher layer, in a test"}) {
		t.Errorf("a test that looks up: %v", up)
	}
}
