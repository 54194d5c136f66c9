package starter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/js"
)

const root = "../.."

// documents are README.md and docs/*.md, by path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	out := map[string]string{}
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(rel)] = string(text)
	}
	return out
}

// Every metric in the source is in docs/operations.md, and every one there is
// in the source.
func TestDocs_OperationsHasEveryMetric(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`parley_[a-z_]+`)
	inSource := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() && (!strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go")) {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`Name:\s*"(parley_[a-z_]+)"`).FindAllStringSubmatch(string(text), -1) {
			inSource[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inDocs := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(parley_[^`]*)`").FindAllStringSubmatch(documents(t)["docs/operations.md"], -1) {
		inDocs[name.FindString(m[1])] = true
	}
	if diff := cmp.Diff(inSource, inDocs); diff != "" {
		t.Errorf("metrics in the source (-) and in docs/operations.md (+):\n%s", diff)
	}
}

func fence() *regexp.Regexp { return regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$") }

// Every piece of YAML is a valid configuration, together with a model.
func TestDocs_YAMLIsValid(t *testing.T) {
	t.Parallel()
	count := 0
	for path, text := range documents(t) {
		for _, m := range fence().FindAllStringSubmatch(text, -1) {
			if m[1] != "yaml" {
				continue
			}
			count++
			doc := m[2]
			if !regexp.MustCompile(`(?m)^model:`).MatchString(doc) {
				doc += "\nmodel: {provider: script, script: model.yaml}\n"
			}
			_, err := config.LoadFS(fstest.MapFS{
				"parley.yaml": {Data: []byte(doc)}, "model.yaml": {}, "tools.ts": {},
			}, "parley.yaml", config.Options{Env: func(string) (string, bool) { return "value", true }})
			if err != nil {
				t.Errorf("%s: %v\n%s", path, err, m[2])
			}
		}
	}
	if count < 5 {
		t.Errorf("%d pieces of YAML found, some must have been missed", count)
	}
}

// Every script is one that loads, with clean cards.
func TestDocs_ScriptsLoad(t *testing.T) {
	t.Parallel()
	count := 0
	for path, text := range documents(t) {
		for _, m := range fence().FindAllStringSubmatch(text, -1) {
			if m[1] != "ts" || !strings.Contains(m[2], "export const tools") {
				continue
			}
			count++
			mod, err := js.Load(t.Context(), js.Embedded(fstest.MapFS{"tools.ts": {Data: []byte(m[2])}}, "tools.ts"), js.Options{})
			if err != nil {
				t.Errorf("%s: %v\n%s", path, err, m[2])
				continue
			}
			for _, f := range slices.Concat(mod.Findings(), tool.Lint(mod.Tools())) {
				if f.Rule != tool.RuleLonelyCreate { // a document shows one tool at a time
					t.Errorf("%s: %s: %s", path, f.Tool, f.Message)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no script found")
	}
}

func TestDocs_JSONIsValid(t *testing.T) {
	t.Parallel()
	for path, text := range documents(t) {
		for _, m := range fence().FindAllStringSubmatch(text, -1) {
			if m[1] == "json" && !json.Valid([]byte(m[2])) {
				t.Errorf("%s: no JSON:\n%s", path, m[2])
			}
		}
	}
}

func TestDocs_LinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)
	for path, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which isn't there", path, m[1])
			}
		}
	}
}
