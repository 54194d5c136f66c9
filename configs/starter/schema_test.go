package starter

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/app"
)

type object = map[string]any

// schema is the configuration's, as parsed JSON and compiled.
func schema(t *testing.T) (object, *jsonschema.Schema) {
	t.Helper()
	text, err := app.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("parley.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("parley.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	root, ok := doc.(object)
	if !ok {
		t.Fatal("the schema is no object")
	}
	return root, compiled
}

func child(o object, keys ...string) object {
	for _, k := range keys {
		o, _ = o[k].(object)
	}
	return o
}

// leaves lists the keys below a schema's properties by dotted path.
func leaves(o object, path string, out map[string]object) {
	for key, v := range child(o, "properties") {
		prop, ok := v.(object)
		p := strings.TrimPrefix(path+"."+key, ".")
		switch {
		case !ok:
		case child(prop, "properties") != nil:
			leaves(prop, p, out)
		case strings.HasSuffix(key, "_file") && child(o, "properties")[strings.TrimSuffix(key, "_file")] != nil:
		default:
			out[p] = prop
		}
	}
}

// settings are all keys that docs/config.md is to have, with their schemas.
func settings(t *testing.T) map[string]object {
	t.Helper()
	root, _ := schema(t)
	out := map[string]object{}
	leaves(root, "", out)
	delete(child(root, "properties", "tools"), "properties")
	for path := range out {
		// Names of the program's own, where the rest are the operator's.
		if strings.HasPrefix(path, "channels.") {
			delete(out, path)
		}
	}
	leaves(child(root, "$defs", "tool"), "tools.NAME", out)
	server := child(root, "properties", "mcp", "properties", "servers", "additionalProperties")
	leaves(server, "mcp.servers.NAME", out)
	ways, _ := child(server, "properties", "allow")["anyOf"].([]any)
	for _, way := range ways {
		if o, ok := way.(object); ok {
			leaves(child(o, "additionalProperties"), "mcp.servers.NAME.allow.NAME", out)
		}
	}
	leaves(child(root, "$defs", "channel.webchat"), "channels.NAME", out)
	delete(out, "channels.NAME.kind")
	out["channels.NAME.kind"] = object{}
	return out
}

// enum lists the words that may stand somewhere.
func enum(o object) (words []string) {
	list, _ := o["anyOf"].([]any)
	for _, one := range list {
		alternative, _ := one.(object)
		values, _ := alternative["enum"].([]any)
		for _, v := range values {
			words = append(words, fmt.Sprint(v))
		}
	}
	return words
}

// TestDocs_ConfigHasEveryKeyWithItsDefault holds docs/config.md to the schema,
// and so to what the decoder takes.
func TestDocs_ConfigHasEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| `([a-zA-Z_.]+)` \\| ([^|]+) \\| ([^|]+) \\| (.+) \\|$")
	rows := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(documents(t)["docs/config.md"], -1) {
		if rows[m[1]] != nil {
			t.Errorf("%s is there twice", m[1])
		}
		rows[m[1]] = m
	}
	for path, s := range settings(t) {
		m := rows[path]
		delete(rows, path)
		if m == nil {
			t.Errorf("%s isn't described", path)
			continue
		}
		shown := "–"
		if d, ok := s["default"]; ok {
			shown = fmt.Sprintf("`%v`", d)
		}
		below := strings.HasPrefix(path, "tools.NAME") || strings.HasPrefix(path, "channels.NAME")
		if m[3] != shown && !below {
			t.Errorf("%s: described default %s, is %s", path, m[3], shown)
		}
		secret := s["writeOnly"] == true || child(s, "additionalProperties")["writeOnly"] == true
		if secret != strings.Contains(m[2], "secret") {
			t.Errorf("%s: described as %s, a secret: %v", path, m[2], secret)
		}
		for _, word := range enum(s) {
			if !strings.Contains(m[4], "`"+word+"`") {
				t.Errorf("%s: %s is allowed and isn't described", path, word)
			}
		}
	}
	for path := range rows {
		t.Errorf("%s is described and doesn't exist", path)
	}
}

// TestSchema_EveryKeyHasAMeaning: also those of channels, which the pages of
// the channels describe.
func TestSchema_EveryKeyHasAMeaning(t *testing.T) {
	t.Parallel()
	root, _ := schema(t)
	for name, def := range child(root, "$defs") {
		kind, ok := strings.CutPrefix(name, "channel.")
		if !ok {
			continue
		}
		keys := map[string]object{}
		o, _ := def.(object)
		leaves(o, "channels."+kind, keys)
		for path, s := range keys {
			if s["description"] == nil {
				t.Errorf("%s isn't described in docs/%s.md", path, strings.ReplaceAll(kind, "_", "-"))
			}
		}
	}
	for path, s := range settings(t) {
		if s["description"] == nil && path != "channels.NAME.kind" {
			t.Errorf("%s has no description", path)
		}
	}
}

// valid tells what the schema says of YAML.
func valid(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return s.Validate(textKeys(doc))
}

// textKeys makes keys such as 404 texts, as in JSON.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := object{}
		for k, val := range v {
			out[fmt.Sprint(k)] = textKeys(val)
		}
		return out
	case object:
		for k, val := range v {
			v[k] = textKeys(val)
		}
	case []any:
		for i, val := range v {
			v[i] = textKeys(val)
		}
	}
	return v
}

func TestSchema_ShippedConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	_, s := schema(t)
	var paths []string
	for _, dir := range []string{"configs", "deploy", "e2e"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && (d.Name() == "node_modules" || d.Name() == "grafana") {
				return filepath.SkipDir
			}
			if err == nil && d.Name() == "parley.yaml" {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) < 3 {
		t.Errorf("only %v found", paths)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, s, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	text, err := fs.ReadFile(uncommented(t), "parley.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := valid(t, s, text); err != nil {
		t.Errorf("with everything switched on: %v", err)
	}
}

// TestSchema_DocumentedExamplesAreValid: every piece of YAML in the documents.
func TestSchema_DocumentedExamplesAreValid(t *testing.T) {
	t.Parallel()
	_, s := schema(t)
	docs := documents(t)
	count := 0
	for _, path := range slices.Sorted(maps.Keys(docs)) {
		for _, m := range fence().FindAllStringSubmatch(docs[path], -1) {
			if m[1] != "yaml" {
				continue
			}
			count++
			text := m[2]
			if !regexp.MustCompile(`(?m)^model:`).MatchString(text) {
				text += "\nmodel: {provider: script, script: model.yaml}\n"
			}
			if err := valid(t, s, []byte(text)); err != nil {
				t.Errorf("%s: %v\n%s", path, err, m[2])
			}
		}
	}
	if count < 5 {
		t.Errorf("%d pieces of YAML found", count)
	}
}
