package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type nop struct{}

func (nop) Run(context.Context, Call) (Result, error) { return Result{}, nil }

// parsing doubles every number, and refuses the string "bad".
type parsing struct {
	nop
	err error
}

func (p parsing) Parse(_ context.Context, call Call) (json.RawMessage, []Violation, error) {
	if p.err != nil {
		return nil, nil, p.err
	}
	if strings.Contains(string(call.Args), `"bad"`) {
		return nil, []Violation{{Path: "/x", Message: "is bad"}}, nil
	}
	return json.RawMessage(`{"parsed": ` + string(call.Args) + `}`), nil, nil
}

const orderSchema = `{
	"type": "object",
	"properties": {
		"product": {"enum": ["bread", "cake"]},
		"quantity": {"type": "integer", "minimum": 1, "maximum": 50},
		"day": {"type": "string", "format": "date"},
		"code": {"type": "string", "pattern": "^(?!X)[A-Z]{2}$"},
		"id": {"type": "integer"},
		"price": {"type": "number", "multipleOf": 0.01}
	},
	"required": ["product"],
	"additionalProperties": false
}`

func registry(t *testing.T, tools ...Tool) *Registry {
	t.Helper()
	r, err := NewRegistry(tools)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestValidate_A10(t *testing.T) {
	t.Parallel()
	r := registry(t,
		Tool{Name: "order", Schema: json.RawMessage(orderSchema), Runner: nop{}},
		Tool{Name: "plain", Runner: nop{}},
	)
	cases := []struct {
		name, tool, raw, want string
		paths                 []string
	}{
		{"valid, in the model's order", "order", `{ "quantity": 2, "product": "cake" }`, `{"quantity":2,"product":"cake"}`, nil},
		{"2.0 is an integer and stays as written", "order", `{"product":"cake","quantity":2.0}`, `{"product":"cake","quantity":2.0}`, nil},
		{"beyond 2^53 stays exact", "order", `{"product":"cake","id":9007199254740993}`, `{"product":"cake","id":9007199254740993}`, nil},
		{"decimal multipleOf is exact", "order", `{"product":"cake","price":0.29}`, `{"product":"cake","price":0.29}`, nil},
		{"look-ahead pattern", "order", `{"product":"cake","code":"AB"}`, `{"product":"cake","code":"AB"}`, nil},
		{"look-ahead pattern refuses", "order", `{"product":"cake","code":"XB"}`, ``, []string{"/code"}},
		{"format", "order", `{"product":"cake","day":"tomorrow"}`, ``, []string{"/day"}},
		{"required", "order", `{}`, ``, []string{"/product"}},
		{"several", "order", `{"quantity":0,"extra":1}`, ``, []string{"/product", "/extra", "/quantity"}},
		{"enum", "order", `{"product":"pie"}`, ``, []string{"/product"}},
		{"a number as a string", "order", `{"product":"cake","quantity":"2"}`, ``, []string{"/quantity"}},
		{"no arguments, none given", "plain", ``, `{}`, nil},
		{"no arguments, null", "plain", ` null `, `{}`, nil},
		{"no arguments, some given", "plain", `{"a":1}`, ``, []string{"/a"}},
		{"malformed", "order", `{"product":`, ``, []string{""}},
		{"trailing", "order", `{"product":"cake"} {}`, ``, []string{""}},
		{"an array", "order", `[]`, ``, []string{""}},
		{"a string", "order", `"{}"`, ``, []string{""}},
		{"duplicate key", "order", `{"product":"cake","product":"bread"}`, ``, []string{"/product"}},
		{"number out of reach", "order", `{"product":"cake","id":1e999999999}`, ``, []string{"/id"}},
		{"too long", "order", `{"product":"` + strings.Repeat("x", 1<<20) + `"}`, ``, []string{""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tl, ok := r.Get(c.tool)
			if !ok {
				t.Fatal("no such tool")
			}
			args, vs := r.Validate(tl, c.raw)
			if string(args) != c.want {
				t.Errorf("args = %s, want %s", args, c.want)
			}
			var paths []string
			for _, v := range vs {
				paths = append(paths, v.Path)
				if v.Message == "" {
					t.Errorf("no message at %q", v.Path)
				}
			}
			if diff := cmp.Diff(asSet(c.paths), asSet(paths)); diff != "" {
				t.Errorf("violations %+v: %s", vs, diff)
			}
		})
	}
}

func asSet(s []string) map[string]bool {
	m := map[string]bool{}
	for _, x := range s {
		m[x] = true
	}
	return m
}

func TestValidate_ViolationsAreBounded(t *testing.T) {
	t.Parallel()
	r := registry(t, Tool{Name: "plain", Runner: nop{}})
	tl, _ := r.Get("plain")
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	_, vs := r.Validate(tl, "{"+b.String()[1:]+"}")
	if len(vs) != maxViolations {
		t.Errorf("%d violations, want %d", len(vs), maxViolations)
	}
}

func TestCheck_A11_ParserDecides(t *testing.T) {
	t.Parallel()
	r := registry(t,
		Tool{Name: "p", Schema: json.RawMessage(orderSchema), Runner: parsing{}},
		Tool{Name: "broken", Runner: parsing{err: errors.New("no VM")}},
	)
	p, _ := r.Get("p")
	// The schema alone would refuse this: the parser is the judge.
	args, vs, err := r.Check(t.Context(), p, Call{}, `{"x": 1}`)
	if err != nil || vs != nil || string(args) != `{"parsed":{"x":1}}` {
		t.Errorf("Check = %s, %v, %v", args, vs, err)
	}
	_, vs, err = r.Check(t.Context(), p, Call{}, `{"x":"bad"}`)
	if diff := cmp.Diff([]Violation{{Path: "/x", Message: "is bad"}}, vs); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, vs, err = r.Check(t.Context(), p, Call{}, `{"x":`); len(vs) != 1 || err != nil {
		t.Errorf("malformed JSON: %v, %v", vs, err)
	}
	broken, _ := r.Get("broken")
	if _, _, err = r.Check(t.Context(), broken, Call{}, `{}`); err == nil {
		t.Error("a parser that can't run must be the operator's error")
	}
}

func TestNewRegistry_Refuses(t *testing.T) {
	t.Parallel()
	ok := json.RawMessage(`{"type":"object"}`)
	for name, c := range map[string]struct {
		tools []Tool
		want  []string
	}{
		"space in the name":  {[]Tool{{Name: "place order", Schema: ok, Runner: nop{}}}, []string{`"place order"`, "name"}},
		"long name":          {[]Tool{{Name: strings.Repeat("a", 65), Schema: ok, Runner: nop{}}}, []string{"name"}},
		"line break in name": {[]Tool{{Name: "a\n", Schema: ok, Runner: nop{}}}, []string{"name"}},
		"twice":              {[]Tool{{Name: "a", Runner: nop{}}, {Name: "a", Runner: nop{}}}, []string{`"a"`, "two tools"}},
		"no runner":          {[]Tool{{Name: "a"}}, []string{"runs"}},
		"effect":             {[]Tool{{Name: "a", Effect: "safe", Runner: nop{}}}, []string{`"safe"`, "read, idempotent, unsafe"}},
		"schema no JSON":     {[]Tool{{Name: "a", Schema: json.RawMessage(`{`), Runner: nop{}}}, []string{`"a"`, "JSON"}},
		"schema place":       {[]Tool{{Name: "a", Schema: json.RawMessage(`{"properties":{"n":{"minimum":"one"}}}`), Runner: nop{}}}, []string{`"a"`, "/properties/n/minimum"}},
		"schema of a string": {[]Tool{{Name: "a", Schema: json.RawMessage(`{"type":"string"}`), Runner: nop{}}}, []string{"object"}},
		"remote ref":         {[]Tool{{Name: "a", Schema: json.RawMessage(`{"$ref":"https://example.com/s.json"}`), Runner: nop{}}}, []string{"not loaded"}},
		"file ref":           {[]Tool{{Name: "a", Schema: json.RawMessage(`{"$ref":"file:///etc/hostname"}`), Runner: nop{}}}, []string{"not loaded"}},
		"pattern":            {[]Tool{{Name: "a", Schema: json.RawMessage(`{"properties":{"n":{"pattern":"("}}}`), Runner: nop{}}}, []string{`"a"`, "/properties/n/pattern"}},
		"all of them": {[]Tool{{Name: "a"}, {Name: "b", Schema: json.RawMessage(`[]`), Runner: nop{}}}, []string{
			`"a"`, `"b"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewRegistry(c.tools)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q doesn't tell %q", err, want)
				}
			}
		})
	}
}

func TestRegistry_FillsInAndSorts(t *testing.T) {
	t.Parallel()
	r := registry(t, Tool{Name: "place_order", Runner: nop{}}, Tool{Name: "list", Digest: "given", Runner: nop{}})
	if diff := cmp.Diff([]string{"list", "place_order"}, r.order); diff != "" {
		t.Error(diff)
	}
	p, _ := r.Get("place_order")
	if p.Title != "Place order" || p.Effect != Unsafe || len(p.Digest) != 64 {
		t.Errorf("filled in: %+v", p)
	}
	if l, _ := r.Get("list"); l.Digest != "given" {
		t.Errorf("digest = %s", l.Digest)
	}
	if _, ok := r.Get("Place_order"); ok {
		t.Error("names are exact")
	}
	if _, _, schema := p.Card(); string(schema) != emptySchema {
		t.Errorf("schema = %s", schema)
	}
}

func TestDigest_B28_ChangesWithTheDefinition(t *testing.T) {
	t.Parallel()
	base := Tool{Name: "a", Schema: json.RawMessage(`{"type":"object","title":"x"}`)}
	same := base
	same.Schema = json.RawMessage(`{ "title": "x", "type": "object" }`)
	if Digest(&base, "code") != Digest(&same, "code") {
		t.Error("the spelling of the schema changed the digest")
	}
	seen := map[string]string{Digest(&base): "base"}
	for name, change := range map[string]func(*Tool){
		"name":    func(t *Tool) { t.Name = "b" },
		"title":   func(t *Tool) { t.Title = "b" },
		"schema":  func(t *Tool) { t.Schema = nil },
		"labels":  func(t *Tool) { t.Labels = map[string]map[string]string{"a": {"b": "c"}} },
		"effect":  func(t *Tool) { t.Effect = Read },
		"confirm": func(t *Tool) { t.Confirm = true },
		"kind":    func(t *Tool) { t.Kind = "http" },
	} {
		c := base
		change(&c)
		d := Digest(&c)
		if other, dup := seen[d]; dup {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[d] = name
	}
	if Digest(&base, "a", "b") == Digest(&base, "ab") {
		t.Error("parts of the code run together")
	}
}

func TestHumanize_B9(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"place_order": "Place order", "placeOrder": "Place order", "place-order": "Place order",
		"guest_name": "Guest name", "id": "Id", "getURL": "Get URL", "__x__": "X", "ñandú_azul": "Ñandú azul",
		"": "", "_": "_", "a  b": "A b",
	} {
		if got := Humanize(in); got != want {
			t.Errorf("Humanize(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, s := range []string{``, `null`, `{}`, `{"product":"cake"}`, `{"product":"cake","id":1e400}`, `{"a":{"a":[1,2,{"a":null}]}}`, `[`, "\xff"} {
		f.Add(s)
	}
	r, err := NewRegistry([]Tool{
		{Name: "order", Schema: json.RawMessage(orderSchema), Runner: nop{}},
		{Name: "open", Schema: json.RawMessage(`{}`), Runner: nop{}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tl := range r.Tools() {
			args, vs := r.Validate(tl, raw)
			if (args == nil) != (len(vs) > 0) {
				t.Fatalf("args %q with violations %v", args, vs)
			}
			if args == nil {
				continue
			}
			again, vs := r.Validate(tl, string(args))
			if vs != nil || string(again) != string(args) {
				t.Fatalf("validated again: %s becomes %s, %v", args, again, vs)
			}
			if s := strings.TrimSpace(raw); s != "" && s != "null" && ArgsHash(json.RawMessage(raw)) != ArgsHash(args) {
				t.Fatalf("%q and %s are other arguments", raw, args)
			}
		}
	})
}
