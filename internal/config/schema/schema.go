package schema

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/secret"
)

// Object is a JSON object.
type Object = map[string]any

// Maker makes schemas of types. The zero value works. Paths are dotted.
type Maker struct {
	// Describe gives the meaning of a key, "" where it isn't known; nil knows
	// none.
	Describe func(path string) string
	// Words are what may stand at a path beside what the tags say; nil where
	// that is all.
	Words func(path string) []string
	// Leave tells which keys are not shown though the types have them.
	Leave func(path string) bool
	// More are further conditions of the section at a path.
	More func(path string) []any
}

// Schematic is a type with a YAML form of its own that says what it is.
type Schematic interface {
	Schema(s Maker, path string) Object
}

// Defaulted is a type whose default is written otherwise than it is kept.
type Defaulted interface {
	Written() any
}

// variable matches values that a variable is part of, which may be anything
// once it is replaced.
const variable = `\$\{`

// Text is any plain value: the decoder takes numbers and booleans as they are
// written.
func Text() Object { return Object{"type": []any{"string", "number", "boolean", "null"}} }

// oneLine matches texts without control characters, which stand for
// themselves in it: JSON and each kind of regular expression has its own way
// to write them.
const oneLine = "^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"

// Matching is a text of some form, or one with a variable.
func Matching(pattern string) Object {
	return Object{"type": []any{"string", "integer", "null"}, "pattern": pattern + "|" + variable}
}

// Words is one of some words, or a text with a variable.
func Words(list []string) Object {
	enum := []any{}
	for _, w := range list {
		enum = append(enum, w)
	}
	return Object{"anyOf": []any{Object{"enum": enum}, Object{"type": "string", "pattern": variable}, Object{"type": "null"}}}
}

// literal is a type of JSON, or a text with a variable.
func literal(typ string) Object {
	return Object{"type": []any{typ, "string", "null"}, "pattern": variable}
}

// value is the schema of one type; v is its default, or not valid.
func (s Maker) value(t reflect.Type, v reflect.Value, path string, r decode.Rules) Object {
	if own, ok := reflect.TypeAssert[Schematic](reflect.New(t)); ok {
		return own.Schema(s, path)
	}
	if s.Words != nil {
		if list := s.Words(path); list != nil {
			return Words(list)
		}
	}
	switch {
	case r.OneOf != nil:
		return Words(r.OneOf)
	case decode.Is[secret.String](t):
		out := Text()
		out["writeOnly"] = true
		return out
	case decode.Is[time.Duration](t):
		out := Matching(`^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`)
		out["maximum"], out["minimum"] = 0, 0 // the only one without a unit
		return out
	case decode.Is[json.RawMessage](t):
		return Object{}
	case r.Text:
		return Object{"type": []any{"string", "number", "boolean", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem(), reflect.Value{}, path, r)
	case reflect.Struct:
		if decode.IsText(t) {
			return Text()
		}
		if !v.IsValid() {
			v = reflect.New(t).Elem()
		}
		return s.Object(v, path)
	case reflect.Map:
		return Object{"type": []any{"object", "null"}, "additionalProperties": s.value(t.Elem(), reflect.Value{}, path+".NAME", r)}
	case reflect.Slice:
		return Object{"type": []any{"array", "null"}, "items": s.value(t.Elem(), reflect.Value{}, path, r)}
	case reflect.Bool:
		return literal("boolean")
	case reflect.Float32, reflect.Float64:
		return literal("number")
	case reflect.String:
		out := Text()
		if !r.Lines {
			out["pattern"] = oneLine
		}
		return out
	default:
		if reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint() {
			return literal("integer")
		}
		return Object{} // the YAML library's to judge
	}
}

// Object is the schema of a section; v has the defaults.
func (s Maker) Object(v reflect.Value, path string) Object {
	properties, required, all := Object{}, []any{}, []any{}
	for _, r := range decode.RulesOf(v.Type()) {
		p := decode.Join(path, r.Name)
		if s.Leave != nil && s.Leave(p) {
			continue
		}
		field := v.FieldByIndex(r.Index)
		prop := s.Described(s.value(r.Type, field, p, r), p)
		if d, ok := shownDefault(field); ok {
			prop["default"] = d
		}
		properties[r.Name] = prop
		if !decode.Is[secret.String](r.Type) {
			if r.Required {
				required = append(required, r.Name)
				NotNull(prop)
			}
			continue
		}
		file := r.Name + "_file"
		properties[file] = s.Described(Text(), p+"_file")
		if properties[file].(Object)["description"] == nil { //nolint:errcheck // made above
			properties[file].(Object)["description"] = "A file that holds " + r.Name + "." //nolint:errcheck // likewise
		}
		one := Object{"not": Object{"required": []any{r.Name, file}}}
		if r.Required {
			one = Object{"oneOf": []any{Object{"required": []any{r.Name}}, Object{"required": []any{file}}}}
			NotNull(prop)
		}
		all = append(all, one)
	}
	out := Object{"type": []any{"object", "null"}, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"], out["type"] = required, "object"
	}
	if s.More != nil {
		all = append(all, s.More(path)...)
	}
	if len(all) > 0 {
		out["allOf"] = all
	}
	return out
}

// NotNull takes away that a value may be left out.
func NotNull(prop Object) {
	if list, ok := prop["type"].([]any); ok {
		prop["type"] = slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == "null" })
	}
	if list, ok := prop["anyOf"].([]any); ok {
		prop["anyOf"] = slices.DeleteFunc(slices.Clone(list), func(t any) bool {
			o, ok := t.(Object)
			return ok && o["type"] == "null"
		})
	}
}

// Described gives a schema the meaning of the key at path.
func (s Maker) Described(schema Object, path string) Object {
	if s.Describe != nil {
		if text := s.Describe(path); text != "" {
			schema["description"] = text
		}
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
		return ShortDuration(d), true
	case Defaulted:
		return d.Written(), true
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

// ShortDuration leaves out what is zero: 2m, not 2m0s.
func ShortDuration(d time.Duration) string {
	return regexp.MustCompile(`([mh])0s$|(h)0m0s$`).ReplaceAllStringFunc(d.String(), func(tail string) string {
		return strings.TrimSuffix(strings.TrimSuffix(tail, "0s"), "0m")
	})
}

// Props are the properties of an object's schema.
func Props(schema Object) Object {
	p, _ := schema["properties"].(Object) // of an object
	return p
}
