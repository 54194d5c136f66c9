package starter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels/webchat"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/secret"
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

// setting is one key of the configuration, as the structs have it.
type setting struct {
	path  string
	typ   reflect.Type
	value reflect.Value // invalid below lists and maps
	oneof []string
}

func settings(typ reflect.Type, value reflect.Value, path string) []setting {
	var out []setting
	for f := range typ.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "-" || !f.IsExported() {
			continue
		}
		s := setting{path: strings.TrimPrefix(path+"."+key, "."), typ: f.Type}
		if value.IsValid() {
			s.value = value.FieldByIndex(f.Index)
		}
		for rule := range strings.SplitSeq(f.Tag.Get("config"), ",") {
			if list, ok := strings.CutPrefix(rule, "oneof="); ok {
				s.oneof = strings.Split(list, "|")
			}
		}
		out = append(out, s.expand()...)
	}
	return out
}

// expand gives the keys below a section, or the setting itself.
func (s setting) expand() []setting {
	switch s.typ {
	case reflect.TypeFor[config.Tools]():
		return append([]setting{{path: "tools.scripts"}}, settings(reflect.TypeFor[config.Tool](), reflect.Value{}, "tools.NAME")...)
	case reflect.TypeFor[config.Channels]():
		out := []setting{{path: "channels.NAME.kind"}, {path: "channels.NAME.allow"}}
		out = append(out, settings(reflect.TypeFor[config.Groups](), reflect.Value{}, "channels.NAME.groups")...)
		return append(out, settings(reflect.TypeFor[webchat.Config](), reflect.Value{}, "channels.NAME")...)
	case reflect.TypeFor[secret.String](), reflect.TypeFor[config.Section](), reflect.TypeFor[config.Rate](),
		reflect.TypeFor[config.SystemNote](), reflect.TypeFor[config.AnswerBy](), reflect.TypeFor[config.Code](),
		reflect.TypeFor[config.Body](), reflect.TypeFor[config.Statuses]():
		return []setting{s}
	}
	switch {
	case s.typ.Kind() == reflect.Struct:
		return settings(s.typ, s.value, s.path)
	case s.typ.Kind() == reflect.Pointer && s.typ.Elem().Kind() == reflect.Struct:
		return settings(s.typ.Elem(), reflect.Value{}, s.path)
	default:
		return []setting{s}
	}
}

// shown is the default as docs/config.md writes it.
func (s setting) shown() string {
	if !s.value.IsValid() || s.value.IsZero() && s.typ.Kind() != reflect.Bool {
		return "–"
	}
	var text string
	switch v := s.value.Interface().(type) {
	case secret.String:
		text = v.Reveal()
	case time.Duration:
		text = v.String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
	case config.Rate:
		text = fmt.Sprintf("%d/%s", v.N, setting{typ: reflect.TypeFor[time.Duration](), value: reflect.ValueOf(v.Per)}.shown())
		text = strings.ReplaceAll(text, "`", "")
	case config.SystemNote:
		text = fmt.Sprint(v.On)
	case config.AnswerBy:
		text = string(v.Who)
	default:
		text = fmt.Sprint(v)
	}
	return "`" + text + "`"
}

func TestDocs_ConfigHasEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	c, err := config.LoadFS(fstest.MapFS{
		"parley.yaml": {Data: []byte("model: {provider: script, script: model.yaml}")}, "model.yaml": {},
	}, "parley.yaml", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Provider, c.Model.Script = "", "" // have no default
	row := regexp.MustCompile("(?m)^\\| `([a-zA-Z_.]+)` \\| ([^|]+) \\| ([^|]+) \\| (.+) \\|$")
	rows := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(documents(t)["docs/config.md"], -1) {
		if rows[m[1]] != nil {
			t.Errorf("%s is there twice", m[1])
		}
		rows[m[1]] = m
	}
	delete(rows, "include") // taken by the loader
	for _, s := range settings(reflect.TypeFor[config.Config](), reflect.ValueOf(*c), "") {
		m := rows[s.path]
		delete(rows, s.path)
		if m == nil {
			t.Errorf("%s isn't described", s.path)
			continue
		}
		if m[3] != s.shown() {
			t.Errorf("%s: described default %s, is %s", s.path, m[3], s.shown())
		}
		isSecret := s.typ == reflect.TypeFor[secret.String]() || s.typ == reflect.TypeFor[map[string]secret.String]()
		if isSecret != strings.Contains(m[2], "secret") {
			t.Errorf("%s: described as %s, a secret: %v", s.path, m[2], isSecret)
		}
		for _, word := range s.oneof {
			if !strings.Contains(m[4], "`"+word+"`") {
				t.Errorf("%s: %s is allowed and isn't described", s.path, word)
			}
		}
	}
	for path := range rows {
		t.Errorf("%s is described and doesn't exist", path)
	}
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
