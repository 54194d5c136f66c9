package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Registry is the set of tools of one bot. It never changes: a new
// configuration is a new registry.
type Registry struct {
	tools   map[string]*Tool
	schemas map[string]*jsonschema.Schema
	order   []string
}

// NewRegistry checks and compiles the tools. Names must match
// ^[a-zA-Z0-9_-]{1,64}$ and be unique, schemas must be valid JSON Schema of an
// object, every tool needs a Runner. All that is wrong is in the one error,
// each part with its tool and place. Digest, Title and Effect are filled in
// where they are empty.
func NewRegistry(tools []Tool) (*Registry, error) {
	r := &Registry{
		tools:   make(map[string]*Tool, len(tools)),
		schemas: make(map[string]*jsonschema.Schema, len(tools)),
	}
	var errs []error
	for _, t := range tools {
		if err := r.add(t); err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", t.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.order = slices.Sorted(maps.Keys(r.tools))
	return r, nil
}

// NamePattern is what providers accept as a tool's name (interface: settled
// detail 19).
const NamePattern = `^[a-zA-Z0-9_-]{1,64}$`

// ValidName tells whether models can be offered a tool of that name.
func ValidName(name string) bool {
	ok, err := regexp.MatchString(NamePattern, name)
	return err == nil && ok
}

func (r *Registry) add(t Tool) error {
	if !ValidName(t.Name) {
		return fmt.Errorf("the name must match %s", NamePattern)
	}
	if _, dup := r.tools[t.Name]; dup {
		return errors.New("there are two tools of that name")
	}
	if t.Runner == nil {
		return errors.New("nothing runs it")
	}
	switch t.Effect {
	case "":
		t.Effect = Unsafe
	case Read, Idempotent, Unsafe:
	default:
		return fmt.Errorf("effect %q is none of read, idempotent, unsafe", t.Effect)
	}
	_, _, raw := t.Card()
	s, err := compileSchema(raw)
	if err != nil {
		return err
	}
	if !acceptsObjects(s) {
		return errors.New(`the schema must be of type "object"`)
	}
	if strings.ContainsFunc(t.Title, unicode.IsControl) {
		return errors.New("the title must be one line: it holds a line break or another control character")
	}
	t.Title = cmp.Or(t.Title, Humanize(t.Name))
	t.Digest = cmp.Or(t.Digest, Digest(&t))
	r.schemas[t.Name] = s
	r.tools[t.Name] = &t
	return nil
}

// acceptsObjects refuses the plain mistake of a schema for another type;
// compositions are left to the validator.
func acceptsObjects(s *jsonschema.Schema) bool {
	return s.Types == nil || s.Types.IsEmpty() || slices.Contains(s.Types.ToStrings(), "object")
}

// Get finds a tool by its exact name. The tool must not be changed.
func (r *Registry) Get(name string) (*Tool, bool) {
	t, ok := r.tools[name]
	return t, ok
}

// Tools are all tools, sorted by name: a stable order keeps providers' prompt
// caches warm.
func (r *Registry) Tools() []*Tool {
	out := make([]*Tool, 0, len(r.order))
	for _, name := range r.order {
		out = append(out, r.tools[name])
	}
	return out
}

// Len is how many tools there are.
func (r *Registry) Len() int { return len(r.order) }

// Card is all that a model sees of the tool (behaviour A12). A tool without a
// schema shows one that takes no arguments.
func (t *Tool) Card() (name, description string, schema json.RawMessage) {
	schema = t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(emptySchema)
	}
	return t.Name, t.Description, schema
}
