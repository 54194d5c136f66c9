package js

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/tool"
)

// described is one tool as the runtime saw it.
type described struct {
	Name        string           `json:"name"`
	At          string           `json:"at"` // stack of its defineTool
	Type        string           `json:"type"`
	Fields      map[string]field `json:"fields"`
	Validator   bool             `json:"validator"`
	Schema      json.RawMessage  `json:"schema"`
	SchemaError string           `json:"schemaError"`
}

type field struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// knownFields are those of defineTool.
func knownFields() []string {
	return []string{
		"title", "description", "schema", "jsonSchema", "confirm", "confirmLines", "confirmMessage",
		"dedupe", "timeout", "timeoutMs", "labels", "effect", "handler",
	}
}

// define checks what the script exports and makes the tools of it.
func (m *Module) define() ([]tool.Tool, error) {
	var defs struct {
		Tools   []described `json:"tools"`
		Exports []string    `json:"exports"`
		Type    string      `json:"type"`
	}
	if err := json.Unmarshal(m.prog.Defs, &defs); err != nil {
		return nil, fmt.Errorf("load script %s: read its definitions: %w", m.src.path, err)
	}
	if defs.Type != "" {
		e := &Error{File: m.src.path, Line: 1, Column: 1, Message: `the module must export "tools", an object of tools`}
		switch {
		case defs.Type != "undefined":
			e.Message += "; it is of type " + defs.Type
			e.Line, e.Column = m.find("", `\btools\b`, 1)
		case len(defs.Exports) > 0:
			slices.Sort(defs.Exports)
			e.Message += "; it exports " + strings.Join(defs.Exports, ", ")
		}
		return nil, e
	}
	var tools []tool.Tool
	var errs []error
	for _, d := range defs.Tools {
		c := &checker{m: m, d: d}
		t := c.tool()
		errs = append(errs, c.errs...)
		tools = append(tools, t)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return tools, nil
}

// checker reads one definition and collects what is wrong with it.
type checker struct {
	m    *Module
	d    described
	errs []error
}

func (c *checker) tool() tool.Tool {
	d := c.d
	if d.Type != "" {
		c.failf("", "must be an object, made by defineTool, not %s", d.Type)
		return tool.Tool{}
	}
	if !tool.ValidName(d.Name) {
		c.failf("", "the name must match %s", tool.NamePattern)
	}
	for name := range d.Fields {
		if !slices.Contains(knownFields(), name) {
			msg := fmt.Sprintf("unknown field %q", name)
			if near := nearest(name, knownFields()); near != "" {
				msg += fmt.Sprintf("; did you mean %q?", near)
			}
			c.failf(name, "%s", msg)
		}
	}
	r := &runner{m: c.m, name: d.Name}
	t := tool.Tool{
		Name: d.Name, Kind: "script", Effect: tool.Unsafe, Schema: c.schema(),
		Description: c.text("description"),
	}
	c.title(&t)
	if f, ok := c.field("handler"); !ok || f.Type != "function" {
		c.failf("handler", "handler must be a function")
	}
	c.confirm(&t, r)
	t.Dedupe = c.dedupe()
	t.Timeout = c.timeout()
	if f, ok := c.field("labels"); ok && json.Unmarshal(f.Value, &t.Labels) != nil {
		c.failf("labels", "labels must be {argument: {value: label}}")
	}
	if effect := c.text("effect"); effect != "" {
		t.Effect = tool.Effect(effect)
		if !slices.Contains([]tool.Effect{tool.Read, tool.Idempotent, tool.Unsafe}, t.Effect) {
			c.failf("effect", "effect must be read, idempotent or unsafe, not %q", effect)
		}
	}
	t.Runner = r
	if d.Validator {
		t.Runner = parsingRunner{r}
	}
	t.Digest = tool.Digest(&t, c.m.prog.Hash)
	return t
}

// title is a string, or one for each language: the first of en and the rest in
// alphabetical order is then everybody else's.
func (c *checker) title(t *tool.Tool) {
	f, ok := c.field("title")
	if !ok || f.Type == "string" {
		t.Title = c.text("title")
		return
	}
	if json.Unmarshal(f.Value, &t.Titles) != nil || len(t.Titles) == 0 {
		c.failf("title", "title must be a string, or {language: string}, not %s", f.Type)
		return
	}
	t.Title = cmp.Or(t.Titles["en"], t.Titles[slices.Sorted(maps.Keys(t.Titles))[0]])
}

func (c *checker) confirm(t *tool.Tool, r *runner) {
	if f, ok := c.field("confirm"); ok {
		switch f.Type {
		case "boolean":
			t.Confirm = string(f.Value) == "true"
		case "function":
			r.asks = true
		default:
			c.failf("confirm", "confirm must be true, false or a function, not %s", f.Type)
		}
	}
	if f, ok := c.field("confirmLines"); ok {
		if r.lines = f.Type == "function"; !r.lines {
			c.failf("confirmLines", "confirmLines must be a function, not %s", f.Type)
		}
	}
	if f, ok := c.field("confirmMessage"); ok {
		switch f.Type {
		case "function":
			r.messages = true
		case "string":
			if r.message = c.text("confirmMessage"); strings.TrimSpace(r.message) == "" {
				c.failf("confirmMessage", "confirmMessage must not be blank")
			}
		default:
			c.failf("confirmMessage", "confirmMessage must be a string or a function, not %s", f.Type)
		}
	}
}

// field is a field that is there and not undefined.
func (c *checker) field(name string) (field, bool) {
	f, ok := c.d.Fields[name]
	return f, ok && f.Type != "undefined"
}

func (c *checker) text(name string) string {
	f, ok := c.field(name)
	if !ok {
		return ""
	}
	var s string
	if f.Type != "string" || json.Unmarshal(f.Value, &s) != nil {
		c.failf(name, "%s must be a string, not %s", name, f.Type)
	}
	return s
}

func (c *checker) schema() json.RawMessage {
	name := "schema"
	if _, ok := c.field("jsonSchema"); ok {
		name = "jsonSchema"
	}
	if c.d.SchemaError != "" {
		c.failf(name, "the schema can't be written as JSON Schema: %s", c.d.SchemaError)
		return nil
	}
	f, ok := c.field(name)
	if !ok {
		return nil
	}
	if !bytes.HasPrefix(c.d.Schema, []byte("{")) {
		c.failf(name, "%s must be a validator with safeParse or a JSON Schema, not %s", name, f.Type)
		return nil
	}
	// The registry compiles it again; here the line is known.
	if _, err := tool.NewRegistry([]tool.Tool{{Name: "x", Schema: c.d.Schema, Runner: &runner{}}}); err != nil {
		c.failf(name, "%s", strings.TrimPrefix(err.Error(), `tool "x": `))
	}
	return c.d.Schema
}

const defaultDedupe = 10 * time.Minute

func (c *checker) dedupe() time.Duration {
	f, ok := c.field("dedupe")
	if !ok || string(f.Value) == "false" {
		return 0
	}
	const want = `dedupe must be 'args', {windowMs: 60000} or {window: '1m'}`
	if string(f.Value) == `"args"` {
		return defaultDedupe
	}
	var w struct {
		WindowMs float64 `json:"windowMs"`
		Window   string  `json:"window"`
	}
	dec := json.NewDecoder(bytes.NewReader(f.Value))
	dec.DisallowUnknownFields()
	if f.Type != "object" || dec.Decode(&w) != nil || (w.WindowMs == 0) == (w.Window == "") {
		c.failf("dedupe", want)
		return 0
	}
	d := time.Duration(w.WindowMs * float64(time.Millisecond))
	if w.Window != "" {
		var err error
		if d, err = time.ParseDuration(w.Window); err != nil {
			c.failf("dedupe", "%s; %q is no duration", want, w.Window)
			return 0
		}
	}
	if d <= 0 {
		c.failf("dedupe", want+"; the window must be longer than nothing")
	}
	return d
}

func (c *checker) timeout() *time.Duration {
	ms, okMs := c.field("timeoutMs")
	text, okText := c.field("timeout")
	switch {
	case okMs && okText:
		c.failf("timeout", "give timeoutMs or timeout, not both")
	case okMs:
		var n float64
		if ms.Type != "number" || json.Unmarshal(ms.Value, &n) != nil || n < 0 {
			c.failf("timeoutMs", "timeoutMs must be a number of milliseconds, 0 for none")
		}
		return timeoutOf(time.Duration(n*float64(time.Millisecond)), true)
	case okText:
		d, err := time.ParseDuration(c.text("timeout"))
		if err != nil || d < 0 || text.Type != "string" {
			c.failf("timeout", "timeout must be a duration such as '10s'")
		}
		return timeoutOf(d, true)
	}
	return nil
}

// failf notes a problem at the field, or at the tool where it has none.
func (c *checker) failf(field, format string, args ...any) {
	e := &Error{File: c.m.src.path, Message: "tool " + c.d.Name + ": " + fmt.Sprintf(format, args...)}
	var start int
	file, line, column, ok := c.m.prog.place(c.d.At)
	if ok {
		e.File, e.Line, e.Column = c.m.src.display(file), line, column
		start = line
	} else {
		file = ""
		e.Line, e.Column = c.m.find("", `["']?`+regexp.QuoteMeta(c.d.Name)+`["']?\s*[:(,]`, 1)
		start = e.Line
	}
	if field != "" {
		if l, col := c.m.find(file, `["']?\b`+regexp.QuoteMeta(field)+`\b["']?\s*[:(,}]`, start); l > 0 {
			e.Line, e.Column = l, col
		}
	}
	c.errs = append(c.errs, e)
}

// find looks for a pattern in one of the user's files ("" is the script) from a
// line on.
func (m *Module) find(file, pattern string, from int) (line, column int) {
	text, err := m.readOwn(file)
	re, reErr := regexp.Compile(pattern)
	if err != nil || reErr != nil {
		return 0, 0
	}
	for i, l := range strings.Split(text, "\n") {
		if at := re.FindStringIndex(l); i+1 >= from && at != nil {
			return i + 1, 1 + len([]rune(l[:at[0]]))
		}
	}
	return 0, 0
}

// nearest is the known name that a typing mistake leads to, or "".
func nearest(name string, known []string) string {
	best, bestAt := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestAt && d < len(k) {
			best, bestAt = k, d
		}
	}
	if best == "" {
		for _, k := range known {
			if strings.EqualFold(strings.ReplaceAll(name, "_", ""), k) {
				return k
			}
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
