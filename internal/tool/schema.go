package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// emptySchema is the card's schema of a tool that takes no arguments.
const emptySchema = `{"type":"object","properties":{},"additionalProperties":false}`

// maxViolations bounds what a model is told of one call.
const maxViolations = 20

// compileSchema compiles JSON Schema 2020-12 (or what $schema names). Formats
// are asserted: who writes "format: date" wants a date. Nothing is loaded, from
// no file and no network: a $ref outside the schema is an error.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, errors.New("the schema must be an object")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	const url = "mem:///schema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("the schema can't be read: %w", err)
	}
	s, err := c.Compile(url)
	if err == nil {
		return s, nil
	}
	if sve, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if ve, ok := errors.AsType[*jsonschema.ValidationError](sve.Err); ok {
			vs := violations(ve)
			return nil, fmt.Errorf("the schema is broken at %q: %s", vs[0].Path, vs[0].Message)
		}
	}
	return nil, fmt.Errorf("the schema is broken: %s", strings.ReplaceAll(err.Error(), url, ""))
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: schemas outside this one are not loaded", url)
}

// compilePattern prefers Go's linear-time engine; ECMAScript patterns that it
// doesn't know (look-around, back references) run with a time limit.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	re, err := regexp2.Compile(pattern, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = 50 * time.Millisecond
	return boundedPattern{re}, nil
}

type boundedPattern struct{ re *regexp2.Regexp }

func (p boundedPattern) String() string { return p.re.String() }

// MatchString counts a match that takes too long as none: the argument is
// refused.
func (p boundedPattern) MatchString(s string) bool {
	ok, err := p.re.MatchString(s)
	return ok && err == nil
}

// violations flattens the validator's tree: its leaves, each at the place in
// the instance that is wrong.
func violations(ve *jsonschema.ValidationError) []Violation {
	var out []Violation
	printer := message.NewPrinter(language.English)
	add := func(path []string, msg string) {
		v := Violation{Path: pointer(path), Message: msg}
		if len(out) < maxViolations && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		at := func(key string) []string { return append(slices.Clone(e.InstanceLocation), key) }
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				add(at(name), "is required")
			}
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				add(at(name), "is not allowed: there is no such argument")
			}
		case *kind.FalseSchema:
			add(e.InstanceLocation, "is not allowed")
		default:
			add(e.InstanceLocation, e.ErrorKind.LocalizedString(printer))
		}
	}
	walk(ve)
	return out
}
