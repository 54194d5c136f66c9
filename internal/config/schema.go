package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/secret"
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
	s := schemer{opts: opts}
	if s.opts.Describe == nil {
		s.opts.Describe = func(string) string { return "" }
	}
	cfg := defaults()
	cfg.Model = cfg.Model.withDefaults()
	root := s.object(reflect.ValueOf(*cfg), "")
	props(root)["include"] = s.described(object{"anyOf": []any{text(), object{"type": "array", "items": text()}}}, "include")
	root["type"] = "object"
	root["patternProperties"] = object{"^x-": object{}}
	root["anyOf"] = []any{object{"required": []any{"model"}}, object{"required": []any{"include"}}}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "parley configuration"
	s.channelDefs(root)
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// object is a JSON object.
type object = map[string]any

// schemer makes schemas of types.
type schemer struct {
	opts SchemaOptions
}

// schematic is a type with a YAML form of its own that says what it is.
type schematic interface {
	schema(s schemer, path string) object
}

// variable matches values that a variable is part of, which may be anything
// once it is replaced.
const variable = `\$\{`

// text is any plain value: the decoder takes numbers and booleans as they are
// written.
func text() object { return object{"type": []any{"string", "number", "boolean", "null"}} }

// oneLine matches texts without control characters, which stand for
// themselves in it: JSON and each kind of regular expression has its own way
// to write them.
const oneLine = "^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"

// matching is a text of some form, or one with a variable.
func matching(pattern string) object {
	return object{"type": []any{"string", "integer", "null"}, "pattern": pattern + "|" + variable}
}

// words is one of some words, or a text with a variable.
func words(list []string) object {
	enum := []any{}
	for _, w := range list {
		enum = append(enum, w)
	}
	return object{"anyOf": []any{object{"enum": enum}, object{"type": "string", "pattern": variable}, object{"type": "null"}}}
}

// literal is a type of JSON, or a text with a variable.
func literal(typ string) object {
	return object{"type": []any{typ, "string", "null"}, "pattern": variable}
}

// value is the schema of one type; v is its default, or not valid.
func (s schemer) value(t reflect.Type, v reflect.Value, path string, r rules) object {
	if own, ok := reflect.TypeAssert[schematic](reflect.New(t)); ok {
		return own.schema(s, path)
	}
	switch {
	case path == "model.provider":
		return words(orElse(s.opts.Providers, knownProviders()))
	case r.oneof != nil:
		return words(r.oneof)
	case is[secret.String](t):
		out := text()
		out["writeOnly"] = true
		return out
	case is[time.Duration](t):
		out := matching(`^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`)
		out["maximum"], out["minimum"] = 0, 0 // the only one without a unit
		return out
	case is[json.RawMessage](t):
		return object{}
	case r.text:
		return object{"type": []any{"string", "number", "boolean", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem(), reflect.Value{}, path, r)
	case reflect.Struct:
		if isText(t) {
			return text()
		}
		if !v.IsValid() {
			v = reflect.New(t).Elem()
		}
		return s.object(v, path)
	case reflect.Map:
		return object{"type": []any{"object", "null"}, "additionalProperties": s.value(t.Elem(), reflect.Value{}, path+".NAME", r)}
	case reflect.Slice:
		return object{"type": []any{"array", "null"}, "items": s.value(t.Elem(), reflect.Value{}, path, r)}
	case reflect.Bool:
		return literal("boolean")
	case reflect.Float32, reflect.Float64:
		return literal("number")
	case reflect.String:
		out := text()
		if !r.lines {
			out["pattern"] = oneLine
		}
		return out
	default:
		if reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint() {
			return literal("integer")
		}
		return object{} // the YAML library's to judge
	}
}

// object is the schema of a section; v has the defaults.
func (s schemer) object(v reflect.Value, path string) object {
	properties, required, all := object{}, []any{}, []any{}
	for _, r := range rulesOf(v.Type()) {
		p := join(path, r.name)
		if strings.HasSuffix(path, ".fallback") && r.name == "fallback" {
			continue // a fallback has none of its own
		}
		field := v.FieldByIndex(r.index)
		prop := s.described(s.value(r.typ, field, p, r), p)
		if d, ok := shownDefault(field); ok {
			prop["default"] = d
		}
		properties[r.name] = prop
		if !is[secret.String](r.typ) {
			if r.required {
				required = append(required, r.name)
				notNull(prop)
			}
			continue
		}
		file := r.name + "_file"
		properties[file] = s.described(text(), p+"_file")
		if properties[file].(object)["description"] == nil { //nolint:errcheck // made above
			properties[file].(object)["description"] = "A file that holds " + r.name + "." //nolint:errcheck // likewise
		}
		one := object{"not": object{"required": []any{r.name, file}}}
		if r.required {
			one = object{"oneOf": []any{object{"required": []any{r.name}}, object{"required": []any{file}}}}
			notNull(prop)
		}
		all = append(all, one)
	}
	out := object{"type": []any{"object", "null"}, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"], out["type"] = required, "object"
	}
	if path == "model" || strings.HasSuffix(path, ".fallback") {
		all = append(all, providerRules()...)
	}
	if len(all) > 0 {
		out["allOf"] = all
	}
	return out
}

// providerRules are what a model needs for its provider. A key or an address
// may come from the environment.
func providerRules() []any {
	is := func(provider string) object {
		return object{"properties": object{"provider": object{"const": provider}}, "required": []any{"provider"}}
	}
	return []any{
		object{"if": is("script"), "then": object{"required": []any{"script"}}, "else": object{"required": []any{"name"}}},
	}
}

// notNull takes away that a value may be left out.
func notNull(prop object) {
	if list, ok := prop["type"].([]any); ok {
		prop["type"] = slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == "null" })
	}
	if list, ok := prop["anyOf"].([]any); ok {
		prop["anyOf"] = slices.DeleteFunc(slices.Clone(list), func(t any) bool {
			o, ok := t.(object)
			return ok && o["type"] == "null"
		})
	}
}

func (s schemer) described(schema object, path string) object {
	if text := s.opts.Describe(path); text != "" {
		schema["description"] = text
	}
	return schema
}

// shownDefault is a default as it would be written, false where it is nothing.
func shownDefault(v reflect.Value) (any, bool) {
	if !v.IsValid() || v.IsZero() && v.Kind() != reflect.Bool {
		return nil, false
	}
	switch d := v.Interface().(type) {
	case secret.String:
		return d.Reveal(), true // the program's own, such as store.url
	case time.Duration:
		return shortDuration(d), true
	case Rate:
		return fmt.Sprintf("%d/%s", d.N, shortDuration(d.Per)), true
	case Size:
		return d.String(), true
	case SystemNote:
		return d.On, true
	case AnswerBy:
		return string(d.Who), true
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.Kind() == reflect.Bool:
		return v.Bool(), true
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return v.Uint(), true
	case v.CanFloat():
		return v.Float(), true
	default:
		return nil, false
	}
}

// shortDuration leaves out what is zero: 2m, not 2m0s.
func shortDuration(d time.Duration) string {
	return regexp.MustCompile(`([mh])0s$|(h)0m0s$`).ReplaceAllStringFunc(d.String(), func(tail string) string {
		return strings.TrimSuffix(strings.TrimSuffix(tail, "0s"), "0m")
	})
}

func props(schema object) object {
	p, _ := schema["properties"].(object) // of an object
	return p
}

func orElse(have, known []string) []string {
	if have == nil {
		return known
	}
	return have
}
