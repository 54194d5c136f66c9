package config

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/schema"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

func compileSchema(t *testing.T, opts Options) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(SchemaOptions{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain is a tree as an editor's validator sees it: aliases and merge keys
// resolved, variables as they are written.
func plain(n *tree.Node) any {
	switch {
	case n.IsNull():
		return nil
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for _, f := range n.Fields {
			out[f.Key] = plain(f.Val)
		}
		return out
	case n.Kind == yaml.SequenceNode:
		out := []any{}
		for _, i := range n.Items {
			out = append(out, plain(i))
		}
		return out
	}
	if n.Tag == "!!str" {
		return n.Value
	}
	var v any
	if err := (&yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Value}).Load(&v); err != nil {
		return n.Value
	}
	return v
}

// parsePlain reads one file without what it includes.
func parsePlain(text string) (any, []Error) {
	rep := &tree.Report{}
	return plain(tree.Parse(rep, "main.yaml", []byte(text))), rep.List
}

// wrongs that the shape doesn't tell, though their id says so.
func onlyTold() []string {
	return []string{
		"variable of a wrong type", "secret where none belongs", // what it holds
		"bad proxy",             // the form of an address
		"texts", "locale twice", // what keys mean
		"model without name and key", // a name is required, a key may come from the environment
		"preset without its address", // likewise
		"error in an included file",  // another document
		"number out of range",        // of 64 bits
		"audit",                      // that secret goes with url is told in words
		"header",                     // the form of a name
		"sql tool",                   // what is under data
		// Which keys go together:
		"everybody answered in spite of allow", "others ignored without allow",
	}
}

// TestSchema_RefusesWhatTheDecoderRefuses: of the wrong configurations those
// with a mistake of shape are wrong by the schema too.
func TestSchema_RefusesWhatTheDecoderRefuses(t *testing.T) {
	t.Parallel()
	opts := Options{Env: env, ChannelKinds: []string{"webchat", "console"}, Providers: []string{"openai", "script", "groq", "azure"}}
	s := compileSchema(t, opts)
	structural := []problem.ID{problem.UnknownKey, problem.WrongType, problem.Missing, problem.NotAllowed, problem.Conflict, problem.BadName}
	checked := 0
	for _, w := range wrongs() {
		_, err := LoadFS(wrongFS(w[1]), "main.yaml", opts)
		all, ok := errors.AsType[*Errors](err)
		doc, broken := parsePlain(w[1])
		if !ok || len(broken) > 0 || !slices.ContainsFunc(all.List, func(e Error) bool { return slices.Contains(structural, e.ID) }) {
			continue
		}
		checked++
		if err := s.Validate(doc); err == nil && !slices.Contains(onlyTold(), w[0]) {
			t.Errorf("%s: valid by the schema, but %v", w[0], all)
		}
	}
	if checked < 30 {
		t.Errorf("only %d were checked", checked)
	}
}

func TestSchema_TakesWhatTheDecoderTakes(t *testing.T) {
	t.Parallel()
	s := compileSchema(t, Options{})
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(full), model,
		"include: base.yaml\n", "include: [a.yaml, b.yaml]\nbot:\n",
		model + "x-y: &y {description: d, http: {url: \"https://h.example\"}}\nfetch: {allow: [h.example]}\ntools:\n  a: {<<: *y, confirm: true, dedupe: args}\n  scripts: {<<: *y, timeout: 0}\n",
		model + "loop: {max_steps: \"${N}\", tool_timeout: 1m30s}\nlimits: {per_user: off, message_bytes: 4096}\nconfirm: {system_note: Ask., answer_by: [1, ana]}\n",
		model + "channels: {web: {kind: webchat, allow: [12, ana]}, console: , sms: {kind: console, groups: {session: group}}}\n",
		model + "server: {trusted_proxies: [10.0.0.0/8], admin_token_file: key.txt}\nlog: {level: \"${LEVEL:-info}\"}\n",
	} {
		doc, broken := parsePlain(text)
		if len(broken) > 0 {
			t.Fatal(broken)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestSchema_ShowsAnAdaptersKeys: a kind's keys are those of the struct that
// its section is decoded into, with the defaults that it is given.
func TestSchema_ShowsAnAdaptersKeys(t *testing.T) {
	t.Parallel()
	opts := Options{ChannelKinds: []string{"telegram", "webchat"}, Channel: func(_ *Config, ch Channel) error {
		if ch.Kind == "webchat" {
			return ch.Decode(&struct{}{})
		}
		return ch.Decode(&account{Mode: "polling"})
	}}
	s := compileSchema(t, opts)
	for yaml, want := range map[string]bool{
		"{telegram: {token: x, api_url: y, allow: [z]}}":           true,
		"{telegram: {token_file: x, nested: {key: \"${TOKEN}\"}}}": true,
		"{shop: {kind: telegram, token: x, mode: webhook}}":        true,
		"{web: {kind: webchat}}":                                   true,
		"{telegram: {kind: webchat}}":                              true,
		"{telegram: {token: x, tokn: y}}":                          false,
		"{telegram: {api_url: y}}":                                 false,
		"{telegram: {token: x, token_file: y}}":                    false,
		"{telegram: {token: }}":                                    false,
		"{shop: {kind: telegram, token: x, mode: pull}}":           false,
		"{shop: {kind: webchat, token: x}}":                        false,
		"{shop: {token: x}}":                                       false,
		"{shop: {kind: discord}}":                                  false,
	} {
		doc, _ := parsePlain(model + "channels: " + yaml + "\n")
		if err := s.Validate(doc); (err == nil) != want {
			t.Errorf("%s: valid %v, want %v: %v", yaml, err == nil, want, err)
		}
	}
	text, err := Schema(SchemaOptions{Options: opts})
	if err != nil || !bytes.Contains(text, []byte(`"default": "polling"`)) {
		t.Errorf("the adapter's default isn't shown: %v", err)
	}
}

// unexplained lists the types with a YAML form of their own that have no
// schema: whoever adds one adds that.
func unexplained(t reflect.Type, done *[]reflect.Type) (out []string) {
	if slices.Contains(*done, t) {
		return nil
	}
	*done = append(*done, t)
	_, custom := reflect.TypeAssert[decode.Unmarshaler](reflect.New(t))
	if _, ok := reflect.TypeAssert[schema.Schematic](reflect.New(t)); custom && !ok {
		out = append(out, t.String())
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		out = append(out, unexplained(t.Elem(), done)...)
	case reflect.Struct:
		for _, r := range decode.RulesOf(t) {
			out = append(out, unexplained(r.Type, done)...)
		}
	default:
	}
	return out
}

// TestSchema_KnowsEveryType: a type that reads itself from YAML says what that
// YAML looks like, in schema_kinds.go.
func TestSchema_KnowsEveryType(t *testing.T) {
	t.Parallel()
	for _, name := range unexplained(reflect.TypeFor[Config](), &[]reflect.Type{}) {
		t.Errorf("%s has fromNode and no schema", name)
	}
}
