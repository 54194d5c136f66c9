package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDepth bounds schemas that refer to themselves, and maxNodes those that
// refer to each other until they explode.
const (
	maxDepth = 12
	maxNodes = 2000
)

// subsetOf turns a JSON Schema into the subset that parameters takes; nil where
// it has no properties, since the API refuses an object without any.
//
// References are put in place, constants become enumerations, oneOf becomes
// anyOf, allOf is merged, a list of types becomes nullable or anyOf, and an
// enumeration of anything but texts becomes a sentence in the description. The
// rest is left out: it is checked when the call comes back.
//
// Source: https://ai.google.dev/api/caching#Schema
func subsetOf(schema json.RawMessage) json.RawMessage {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root == nil {
		return nil
	}
	c := cleaner{root: root}
	out := c.clean(root, 0)
	if properties, _ := out["properties"].(map[string]any); len(properties) == 0 {
		return nil
	}
	out["type"] = "OBJECT"
	delete(out, "nullable")
	raw, err := json.Marshal(out)
	if err != nil {
		return nil // what was decoded encodes
	}
	return raw
}

type cleaner struct {
	root  map[string]any
	nodes int
}

type object = map[string]any

// plain are the keys that are the same in both.
func plain() []string {
	return []string{
		"title", "description", "format", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties",
		"pattern", "minimum", "maximum", "default", "nullable",
	}
}

func (c *cleaner) clean(in object, depth int) object {
	c.nodes++
	if depth > maxDepth || c.nodes > maxNodes {
		return object{"type": "OBJECT"}
	}
	in = c.flatten(in, depth)
	out := object{}
	for _, key := range plain() {
		if v, ok := in[key]; ok && v != nil {
			out[key] = v
		}
	}
	c.types(in, out, depth)
	enumerate(in, out)
	c.members(in, out, depth)
	c.choices(in, out, depth)
	if format, _ := out["format"].(string); !knownFormat(format) {
		delete(out, "format")
	}
	return out
}

// knownFormat tells whether the API takes a format; it refuses others.
func knownFormat(format string) bool {
	return slices.Contains([]string{"enum", "date-time", "float", "double", "int32", "int64"}, format)
}

// flatten puts references in place and merges allOf.
func (c *cleaner) flatten(in object, depth int) object {
	ref, isRef := in["$ref"].(string)
	all, isAll := in["allOf"].([]any)
	if !isRef && !isAll {
		return in
	}
	out := maps.Clone(in)
	delete(out, "$ref")
	delete(out, "allOf")
	if c.nodes++; depth > maxDepth || c.nodes > maxNodes {
		return out
	}
	if isRef {
		if target := c.resolve(ref); target != nil {
			merge(out, c.flatten(target, depth+1))
		}
	}
	for _, part := range all {
		if o, ok := part.(object); ok {
			merge(out, c.flatten(o, depth+1))
		}
	}
	return out
}

// merge adds what is in b to a, whose own words win.
func merge(a, b object) {
	for key, v := range b {
		switch mine := a[key].(type) {
		case nil:
			a[key] = v
		case object:
			if theirs, ok := v.(object); ok && key == "properties" {
				both := maps.Clone(theirs)
				maps.Copy(both, mine)
				a[key] = both
			}
		case []any:
			if theirs, ok := v.([]any); ok && key == "required" {
				a[key] = slices.Concat(mine, theirs)
			}
		}
	}
}

// resolve finds what "#/$defs/x" points to (RFC 6901); other documents aren't
// fetched.
func (c *cleaner) resolve(ref string) object {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = c.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		o, ok := at.(object)
		if !ok {
			return nil
		}
		at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	o, _ := at.(object)
	return o
}

// types sets the type. Without one it is guessed from what else is said.
func (c *cleaner) types(in, out object, depth int) {
	var names []string
	switch t := in["type"].(type) {
	case string:
		names = []string{t}
	case []any:
		for _, v := range t {
			if s, ok := v.(string); ok {
				names = append(names, s)
			}
		}
	}
	if i := slices.Index(names, "null"); i >= 0 {
		out["nullable"] = true
		names = slices.Delete(names, i, i+1)
	}
	switch {
	case len(names) == 1:
		out["type"] = strings.ToUpper(names[0])
	case len(names) > 1:
		var each []any
		for _, n := range names {
			one := maps.Clone(in)
			one["type"] = n
			delete(one, "description")
			each = append(each, c.clean(one, depth+1))
		}
		out["anyOf"] = each
	case in["properties"] != nil:
		out["type"] = "OBJECT"
	case in["items"] != nil:
		out["type"] = "ARRAY"
	case in["anyOf"] == nil && in["oneOf"] == nil:
		out["type"] = "STRING"
	}
}

// enumerate takes an enumeration: as one of texts, or in words.
func enumerate(in, out object) {
	values, _ := in["enum"].([]any)
	if v, ok := in["const"]; ok {
		values = []any{v}
	}
	if len(values) == 0 {
		return
	}
	_, texts := out["type"].(string)
	texts = texts && out["type"] == "STRING"
	var words []string
	for _, v := range values {
		s, ok := v.(string)
		if v == nil {
			out["nullable"] = true
			continue
		}
		if !ok {
			texts = false
			raw, _ := json.Marshal(v) // it was decoded from JSON
			s = string(raw)
		}
		words = append(words, s)
	}
	switch {
	case texts && !slices.Contains(words, ""):
		out["enum"] = words
	case in["type"] == nil && out["type"] == "STRING":
		out["type"] = typeOf(values[0])
		fallthrough
	default:
		said, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(fmt.Sprintf("%s One of: %s.", said, strings.Join(words, ", ")))
	}
}

func typeOf(v any) string {
	switch v.(type) {
	case float64:
		return "NUMBER"
	case bool:
		return "BOOLEAN"
	case object:
		return "OBJECT"
	default:
		return "STRING"
	}
}

// members takes an object's properties and a list's items.
func (c *cleaner) members(in, out object, depth int) {
	if properties, ok := in["properties"].(object); ok && out["type"] == "OBJECT" {
		kept := object{}
		for key, v := range properties {
			o, _ := v.(object) // true is a schema too: anything
			kept[key] = c.clean(o, depth+1)
		}
		if len(kept) > 0 {
			out["properties"] = kept
		}
		var required []string
		list, _ := in["required"].([]any)
		for _, v := range list {
			if s, ok := v.(string); ok && kept[s] != nil && !slices.Contains(required, s) {
				required = append(required, s)
			}
		}
		if required != nil {
			out["required"] = required
		}
	}
	if out["type"] == "ARRAY" {
		items, _ := in["items"].(object)
		out["items"] = c.clean(items, depth+1)
	}
}

func (c *cleaner) choices(in, out object, depth int) {
	var kept []any
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := in[key].([]any)
		for _, v := range list {
			o, _ := v.(object)
			if o["type"] == "null" {
				out["nullable"] = true
				continue
			}
			kept = append(kept, c.clean(o, depth+1))
		}
	}
	switch {
	case len(kept) == 1:
		one, _ := kept[0].(object)
		merge(out, one)
	case len(kept) > 1 && out["anyOf"] == nil:
		out["anyOf"] = kept
	}
}
