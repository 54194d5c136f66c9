package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate turns what a model wrote into the arguments of a call: compact
// JSON in the model's own order of keys, numbers as they were written. Absent,
// "" and null are {}. Anything that isn't an object of valid JSON with each key
// once is one violation; everything that the schema refuses is a violation each,
// 20 at the most. With violations there are no arguments.
//
// A tool whose Runner is a [Parser] validates by that: here its arguments are
// only read, and the schema is what the model sees. [Registry.Check] does both.
func (r *Registry) Validate(t *Tool, raw string) (args json.RawMessage, vs []Violation) {
	if s := strings.TrimSpace(raw); s == "" || s == "null" {
		raw = "{}"
	}
	if len(raw) > maxArgsBytes {
		return nil, []Violation{{Message: fmt.Sprintf("arguments are longer than %d bytes", maxArgsBytes)}}
	}
	v, err := parseValue([]byte(raw))
	if err != nil {
		if p, ok := errors.AsType[*problem](err); ok {
			return nil, []Violation{{Path: p.path, Message: p.msg}}
		}
		return nil, []Violation{{Message: err.Error()}}
	}
	if v.kind != '{' {
		return nil, []Violation{{Message: "arguments must be a JSON object"}}
	}
	if _, parses := t.Runner.(Parser); !parses {
		if vs := checkSchema(r.schemas[t.Name], v); vs != nil {
			return nil, vs
		}
	}
	return v.write(nil, false), nil
}

func checkSchema(s *jsonschema.Schema, v value) []Violation {
	if s == nil {
		return []Violation{{Message: "the tool is not registered"}}
	}
	err := s.Validate(v.plain())
	if err == nil {
		return nil
	}
	if ve, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return violations(ve)
	}
	return []Violation{{Message: "the arguments can't be checked: " + err.Error()}}
}

// Check is Validate and then the tool's own Parser, if it has one: the whole
// of behaviour A10 and A11. call.Args need not be set. The error is the
// operator's: the parser itself could not be run.
func (r *Registry) Check(ctx context.Context, t *Tool, call Call, raw string) (args json.RawMessage, vs []Violation, err error) {
	args, vs = r.Validate(t, raw)
	if vs != nil {
		return nil, vs, nil
	}
	p, ok := t.Runner.(Parser)
	if !ok {
		return args, nil, nil
	}
	call.Args = args
	parsed, vs, err := p.Parse(ctx, call)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("parse the arguments of tool %s: %w", t.Name, err)
	case len(vs) > 0:
		return nil, vs[:min(len(vs), maxViolations)], nil
	}
	v, err := parseValue(parsed)
	if err != nil {
		return nil, nil, fmt.Errorf("parse the arguments of tool %s: %w", t.Name, err)
	}
	if v.kind != '{' {
		return nil, nil, fmt.Errorf("parse the arguments of tool %s: the parsed data is not an object", t.Name)
	}
	return v.write(nil, false), nil, nil
}
