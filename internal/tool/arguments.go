package tool

import (
	"encoding/json"
	"maps"
	"slices"
)

// ArgumentNames are the properties of a tool's schema, sorted. open is true
// where there may be others that only the validator knows.
func ArgumentNames(schema json.RawMessage) (names []string, open bool) {
	if len(schema) == 0 {
		return nil, false
	}
	var s map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil {
		return nil, true // the registry says what is wrong with it
	}
	var props map[string]json.RawMessage
	_ = json.Unmarshal(s["properties"], &props)
	for _, k := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"} {
		if _, ok := s[k]; ok {
			open = true
		}
	}
	return slices.Sorted(maps.Keys(props)), open
}
