package script

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// compiler turns a document into rules, and gathers all that is wrong.
type compiler struct {
	parser
	names  names
	langs  []string
	errors []error
}

func (c *compiler) fail(err error) {
	if err != nil {
		c.errors = append(c.errors, err)
	}
}

// build compiles a whole document.
func build(doc *document, file string) (*rules, error) {
	c := &compiler{parser: newParser(), names: names{extractors: map[string]int{}, lists: map[string]int{}}}
	out := &rules{file: file}
	for i, name := range slices.Sorted(maps.Keys(doc.Extract)) {
		c.names.extractors[name] = i
	}
	for i, name := range slices.Sorted(maps.Keys(doc.Lists)) {
		c.names.lists[name] = i
	}
	for _, l := range doc.Languages {
		out.languages = append(out.languages, language{l.Lang.text, c.pattern(l.Text), c.pattern(l.AllText), c.pattern(l.System)})
		c.langs = append(c.langs, l.Lang.text)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Extract)) {
		out.extractors = append(out.extractors, c.extractor(name, doc.Extract[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Lists)) {
		out.lists = append(out.lists, c.list(name, doc.Lists[name]))
	}
	for _, r := range doc.Rules {
		out.list = append(out.list, c.rule(r))
	}
	if len(doc.Rules) == 0 {
		c.fail(pos{1, 1}.errorf("rules: there are none"))
	}
	slices.SortStableFunc(c.errors, byPlace)
	for i, err := range c.errors {
		c.errors[i] = place(file, err)
	}
	return out, errors.Join(c.errors...)
}

func byPlace(a, b error) int {
	pa, okA := errors.AsType[*placedError](a)
	pb, okB := errors.AsType[*placedError](b)
	if !okA || !okB {
		return 0
	}
	if pa.line != pb.line {
		return pa.line - pb.line
	}
	return pa.column - pb.column
}

func (c *compiler) pattern(s scalar) *pattern {
	if !s.set {
		return nil
	}
	p, err := compile(s.text)
	if err != nil {
		c.fail(s.errorf("regular expression %q: %w", s.text, err))
		return nil
	}
	return p
}

func (c *compiler) texts(d textsDoc, n names) texts {
	var out texts
	for i, text := range d.texts {
		t, err := c.parse(text.text, n)
		if err != nil {
			c.fail(text.errorf("%w", err))
		}
		if lang := d.langs[i]; lang != "" && !slices.Contains(c.langs, lang) {
			c.fail(text.errorf("languages: none is called %q", lang))
		}
		out = append(out, struct {
			lang string
			template
		}{d.langs[i], t})
	}
	return out
}

func (c *compiler) refs(list scalars, n names) []ref {
	var out []ref
	for _, s := range list {
		r, err := n.parseRef(strings.Trim(s.text, "{}"))
		if err != nil {
			c.fail(s.errorf("%w", err))
		}
		out = append(out, r)
	}
	return out
}

func (c *compiler) duration(s scalar, name string) time.Duration {
	if !s.set {
		return 0
	}
	d, err := time.ParseDuration(s.text)
	if err != nil || d < 0 {
		c.fail(s.errorf("%s: %q is not a duration, such as 50ms or 2s", name, s.text))
	}
	return d
}

func (c *compiler) list(name string, d *listDoc) *list {
	out := &list{name: name, join: "\n", labels: map[string]string{}}
	if d == nil || !d.Each.set || !d.Line.set() {
		c.fail(d.place().errorf("lists: %s: each and line are needed", name))
		return out
	}
	n := c.names
	n.line = true
	var err error
	if out.each, err = n.parseRef(strings.Trim(d.Each.text, "{}")); err != nil {
		c.fail(d.Each.errorf("%w", err))
	}
	out.line = c.texts(d.Line, n)
	if d.Join.set {
		out.join = d.Join.text
	}
	if d.Empty.set() {
		out.empty = c.texts(d.Empty, n)
	}
	for value, label := range d.Labels {
		out.labels[value] = label.text
	}
	return out
}

func (d *listDoc) place() pos {
	if d == nil {
		return pos{1, 1}
	}
	return d.pos
}

func (c *compiler) extractor(name string, d *extractorDoc) *extractor {
	out := &extractor{name: name, def: "1", numbers: lexicon{}}
	if d == nil {
		c.fail(pos{1, 1}.errorf("extract: %s: is empty", name))
		return out
	}
	switch d.From.text {
	case "", "said":
	case "turn":
		out.turn = true
	default:
		c.fail(d.From.errorf("from: %q is not said or turn", d.From.text))
	}
	out.key, out.quantity, out.pattern, out.numeric = d.Key.text, d.Quantity.text, c.pattern(d.Pattern), d.Numeric
	if d.Default != nil {
		out.def = strconv.Itoa(*d.Default)
	}
	for _, lang := range d.Numbers {
		if !out.numbers.add(lang.text) {
			c.fail(lang.errorf("numbers: %q is not en or es", lang.text))
		}
	}
	for _, value := range slices.Sorted(maps.Keys(d.Words)) {
		if out.forms == nil {
			out.forms = forms{}
		}
		for _, text := range d.Words[value] {
			var words []string
			for _, t := range tokenize(fold(text.text).text) {
				if t.text != "" {
					words = append(words, t.text)
				}
			}
			if len(words) == 0 {
				c.fail(text.errorf("words: %q holds no word", text.text))
			}
			out.forms.add(value, words)
		}
	}
	switch {
	case d.Pattern.set && (d.Words != nil || d.Numbers != nil || d.Key.set):
		c.fail(d.errorf("extract: %s: pattern stands alone", name))
	case !d.Pattern.set && d.Words == nil && d.Numbers == nil:
		c.fail(d.errorf("extract: %s: words, numbers or pattern are needed", name))
	case (d.Key.set || d.Quantity.set) && (d.Words == nil || !d.Key.set):
		c.fail(d.errorf("extract: %s: key goes with words, quantity with key", name))
	}
	return out
}

// failure reads an error: a status or a name.
func (c *compiler) failure(r ruleDoc) *llm.Error {
	if !r.Error.set {
		return nil
	}
	out := &llm.Error{After: c.duration(r.After, "after")}
	switch text := r.Error.text; text {
	case "timeout":
		out.Class = llm.Timeout
	case string(llm.ContextTooLong):
		out.Class, out.Status = llm.ContextTooLong, http.StatusBadRequest
	case string(llm.NoTools):
		out.Class, out.Status = llm.NoTools, http.StatusBadRequest
	case string(llm.Filtered):
		out.Class, out.Status = llm.Filtered, http.StatusBadRequest
	default:
		status, err := strconv.Atoi(text)
		if err != nil || status < 400 || status > 599 {
			c.fail(r.Error.errorf("error: %q is not a status from 400 to 599, timeout, context_too_long, no_tools or filtered", text))
		}
		out.Class, out.Status = llm.ClassOfStatus(status), status
	}
	return out
}
