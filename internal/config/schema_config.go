package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/schema"
	"github.com/parley-bot/parley/internal/config/tree"
)

// SchemaOptions are what a schema is made of beside the types of this package.
type SchemaOptions struct {
	// Options are the build's: its kinds and providers, and how a channel's
	// section is decoded, which shows the adapter's own keys.
	Options
	// Describe gives the meaning of a key, "" where it isn't known. In the
	// dotted path NAME stands for names of the operator's choice, as in
	// tools.NAME.title; a channel's own keys are below channels.KIND.
	Describe func(path string) string
}

// Schema writes the JSON Schema (2020-12) of a whole configuration, for
// editors. It is derived from what the decoder goes by, the types and tags, so
// that it can't tell of other keys than the decoder takes. It knows shapes,
// words and defaults; it doesn't know whether a file exists, a host is allowed,
// or a variable is set. Keys that may come from an included file or from the
// environment are not required where that is the usual way.
func Schema(opts SchemaOptions) ([]byte, error) {
	providers := orElse(opts.Providers, knownProviders())
	s := schema.Maker{
		Describe: opts.Describe,
		Words:    func(path string) []string { return map[string][]string{"model.provider": providers}[path] },
		// A fallback has none of its own.
		Leave: func(path string) bool { return strings.HasSuffix(path, ".fallback.fallback") },
		More: func(path string) []any {
			if path == "model" || strings.HasSuffix(path, ".fallback") {
				return providerRules()
			}
			return nil
		},
	}
	cfg := defaults()
	cfg.Model = cfg.Model.withDefaults()
	root := s.Object(reflect.ValueOf(*cfg), "")
	schema.Props(root)["include"] = s.Described(schema.Object{"anyOf": []any{schema.Text(), schema.Object{"type": "array", "items": schema.Text()}}}, "include")
	root["type"] = "object"
	root["patternProperties"] = schema.Object{"^x-": schema.Object{}}
	root["anyOf"] = []any{schema.Object{"required": []any{"model"}}, schema.Object{"required": []any{"include"}}}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "parley configuration"
	defs := sectionDefs{s, opts.Options}
	maps.Copy(schema.Props(root)["channels"].(schema.Object), defs.channels()) //nolint:errcheck // made above
	defs.add(root)
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// providerRules are what a model needs for its provider. A key or an address
// may come from the environment.
func providerRules() []any {
	is := func(provider string) schema.Object {
		return schema.Object{"properties": schema.Object{"provider": schema.Object{"const": provider}}, "required": []any{"provider"}}
	}
	return []any{
		schema.Object{"if": is("script"), "then": schema.Object{"required": []any{"script"}}, "else": schema.Object{"required": []any{"name"}}},
	}
}

func orElse(have, known []string) []string {
	if have == nil {
		return known
	}
	return have
}

// sectionDefs makes what the sections refer to.
type sectionDefs struct {
	schema.Maker
	opts Options
}

// channels is the section of channels, by name.
func (s sectionDefs) channels() schema.Object {
	named := schema.Object{}
	for _, kind := range orElse(s.opts.ChannelKinds, knownChannels()) {
		// The kind may be left out where the name is the kind.
		named[kind] = schema.Object{
			"if":   schema.Object{"type": "object", "required": []any{"kind"}},
			"then": schema.Object{"$ref": "#/$defs/channel"}, "else": schema.Object{"$ref": "#/$defs/channel." + kind},
		}
	}
	return schema.Object{
		"type": []any{"object", "null"}, "properties": named,
		"propertyNames":        schema.Object{"pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$"},
		"additionalProperties": schema.Object{"$ref": "#/$defs/channel"},
	}
}

// add adds a channel of any kind, one of each, a tool, and texts.
func (s sectionDefs) add(root schema.Object) {
	kinds := orElse(s.opts.ChannelKinds, knownChannels())
	defs, cases := schema.Object{}, []any{}
	kind := schema.Words(kinds)
	schema.NotNull(kind)
	kind = s.Described(kind, "channels.NAME.kind")
	for _, k := range kinds {
		own := s.Object(s.adapter(k), "channels."+k)
		common := s.Object(reflect.ValueOf(commonDefaults()), "channels.NAME")
		schema.Props(common)["kind"] = kind
		maps.Copy(schema.Props(common), schema.Props(own))
		for _, key := range []string{"required", "allOf", "type"} {
			if v, ok := own[key]; ok {
				common[key] = v
			}
		}
		if s.opts.Channel == nil {
			delete(common, "additionalProperties") // nobody knows the adapter's
		}
		defs["channel."+k] = common
		cases = append(cases, schema.Object{
			"if":   schema.Object{"properties": schema.Object{"kind": schema.Object{"const": k}}},
			"then": schema.Object{"$ref": "#/$defs/channel." + k},
		})
	}
	defs["channel"] = schema.Object{"type": "object", "properties": schema.Object{"kind": kind}, "required": []any{"kind"}, "allOf": cases}
	defs["texts"] = schema.Object{"type": []any{"object", "string", "number", "boolean", "null"}, "additionalProperties": schema.Object{"$ref": "#/$defs/texts"}}
	if tools, ok := schema.Props(root)["tools"].(schema.Object); ok {
		defs["tool"] = tools[toolDef]
		delete(tools, toolDef)
	}
	root["$defs"] = defs
}

// adapter is the struct that a kind's section is decoded into, with its
// defaults.
func (s sectionDefs) adapter(kind string) reflect.Value {
	seen := reflect.ValueOf(struct{}{})
	if s.opts.Channel == nil {
		return seen
	}
	ch := Channel{Name: kind, Kind: kind, Section: Section{
		path: "channels." + kind, seen: &seen,
		node: &tree.Node{Kind: yaml.MappingNode}, common: decode.KeysOf(decode.RulesOf(reflect.TypeFor[channelCommon]())),
	}}
	_ = s.opts.Channel(&Config{}, ch) // what is missing is no matter here
	return seen
}
