package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The rules of [Lint] (behaviour E3).
const (
	RuleNoDescription  = "no-description"
	RuleNoWhenNot      = "no-when-not"
	RuleOverlap        = "overlapping-descriptions"
	RuleOpenString     = "open-string"
	RuleOpenNumber     = "open-number"
	RuleOpenObject     = "open-object"
	RuleProseLimit     = "limit-in-prose"
	RuleLonelyCreate   = "create-without-counterparts"
	RuleUnsafeNoAsking = "unsafe-without-confirm"
)

// Finding is advice about a tool's card; never an error.
type Finding struct {
	Tool    string `json:"tool"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// Lint reads the cards as a model would, and tells what invites wrong calls.
// Findings are in the order of the tools.
func Lint(tools []Tool) []Finding {
	var out []Finding
	for i := range tools {
		t := &tools[i]
		add := func(rule, format string, args ...any) {
			out = append(out, Finding{Tool: t.Name, Rule: rule, Message: fmt.Sprintf(format, args...)})
		}
		lintDescription(t, tools[:i], add)
		lintSchema(t, add)
		lintEffect(t, tools, add)
	}
	return out
}

type report func(rule, format string, args ...any)

func lintDescription(t *Tool, before []Tool, add report) {
	d := strings.ToLower(t.Description)
	if strings.TrimSpace(d) == "" {
		add(RuleNoDescription, "there is no description: a model can only guess from the name")
		return
	}
	when := regexp.MustCompile(`\b(not|don't|never|only|unless|instead|except|no|nunca|solo|sólo|salvo|excepto)\b`)
	if !when.MatchString(d) {
		add(RuleNoWhenNot, "the description says nothing about when not to use it")
	}
	words := wordsOf(d)
	for _, other := range before {
		if overlap(words, wordsOf(strings.ToLower(other.Description))) >= 0.6 {
			add(RuleOverlap, "the description is much like that of %s: say what each is for that the other isn't", other.Name)
		}
	}
	limit := regexp.MustCompile(`(?i)\b(max(imum)?|min(imum)?|at most|at least|up to|no more than|less than|between \d+ and|máximo|mínimo|como mucho|hasta)\b[^.]{0,20}\d`)
	if m := limit.FindString(t.Description); m != "" {
		add(RuleProseLimit, "%q is a limit in prose: put it in the schema, where it is enforced", m)
	}
}

func wordsOf(s string) map[string]struct{} {
	out := map[string]struct{}{}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 2 {
			out[w] = struct{}{}
		}
	}
	return out
}

// overlap is the share of common words; short texts say too little to compare.
func overlap(a, b map[string]struct{}) float64 {
	if len(a) < 3 || len(b) < 3 {
		return 0
	}
	common := 0
	for w := range a {
		if _, ok := b[w]; ok {
			common++
		}
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

func lintSchema(t *Tool, add report) {
	if len(t.Schema) == 0 {
		return
	}
	var doc any
	if json.Unmarshal(t.Schema, &doc) == nil {
		lintNode("", doc, 0, add)
	}
}

func lintNode(path string, doc any, depth int, add report) {
	node, ok := doc.(map[string]any)
	if !ok || depth > maxDepth {
		return
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := node[k]; return ok })
	}
	where := "the argument " + strings.TrimPrefix(path, ".")
	if path == "" {
		where = "the schema"
	}
	switch {
	case isType(node, "string") && !has("enum", "const", "pattern", "maxLength", "format", "$ref"):
		add(RuleOpenString, "%s is a string of any content and length: give enum, pattern, format or maxLength", where)
	case isType(node, "integer", "number") && !has("enum", "const") &&
		(!has("minimum", "exclusiveMinimum") || !has("maximum", "exclusiveMaximum")):
		add(RuleOpenNumber, "%s is a number without bounds: give minimum and maximum", where)
	case (isType(node, "object") || has("properties")) && !has("additionalProperties", "unevaluatedProperties", "patternProperties"):
		add(RuleOpenObject, "%s is an object that takes any further key: give additionalProperties: false", where)
	}
	if d, ok := node["description"].(string); ok && isType(node, "string", "integer", "number", "array") {
		if m := regexp.MustCompile(`(?i)\b(max(imum)?|min(imum)?|at most|at least|up to|between)\b[^.]{0,12}\d`).FindString(d); m != "" &&
			!has("maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems") {
			add(RuleProseLimit, "%s: %q is a limit in prose: put it in the schema", where, m)
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions"} {
		if props, ok := node[key].(map[string]any); ok {
			for _, name := range sortedKeys(props) {
				lintNode(path+"."+name, props[name], depth+1, add)
			}
		}
	}
	if items, ok := node["items"]; ok {
		lintNode(path+"[]", items, depth+1, add)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if list, ok := node[key].([]any); ok {
			for _, sub := range list {
				lintNode(path, sub, depth+1, add)
			}
		}
	}
}

func isType(node map[string]any, want ...string) bool {
	switch t := node["type"].(type) {
	case string:
		return slices.Contains(want, t)
	case []any:
		return slices.ContainsFunc(t, func(v any) bool { s, ok := v.(string); return ok && slices.Contains(want, s) })
	}
	return false
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func lintEffect(t *Tool, all []Tool, add report) {
	if (t.Effect == Unsafe || t.Effect == "") && !t.Confirm {
		if p, ok := t.Runner.(Predicate); !ok || !p.HasPredicate() {
			add(RuleUnsafeNoAsking, "it has effects and runs without asking a person: set confirm, or effect if it is read or idempotent")
		}
	}
	m := regexp.MustCompile(`^(?i)(create|add|place|book|make|new|open|schedule|crear|agregar|reservar)[_-]?(.+)$`).FindStringSubmatch(t.Name)
	if m == nil {
		return
	}
	thing := stem(m[2])
	var missing []string
	for _, need := range []struct{ what, verbs string }{
		{"list", `list|show|get|my|find|search|listar|ver|mis`},
		{"update", `update|change|edit|move|reschedule|cambiar|editar`},
		{"cancel", `cancel|delete|remove|close|cancelar|borrar|eliminar`},
	} {
		re := regexp.MustCompile(`^(?i)(` + need.verbs + `)`)
		if !slices.ContainsFunc(all, func(o Tool) bool {
			return re.MatchString(o.Name) && strings.Contains(strings.ToLower(o.Name), thing)
		}) {
			missing = append(missing, need.what)
		}
	}
	if len(missing) > 0 {
		add(RuleLonelyCreate, "it makes something that no tool can %s: a model asked for that has nothing to call", strings.Join(missing, " or "))
	}
}

// stem takes an English or Spanish plural away, so that place_order finds
// my_orders.
func stem(s string) string {
	s = strings.ToLower(s)
	if t, ok := strings.CutSuffix(s, "s"); ok && len(t) > 2 {
		return t
	}
	return s
}
