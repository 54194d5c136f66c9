package platforms

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"
)

// botAPI is Telegram's document: methods and types with their fields.
type botAPI struct {
	Methods map[string]struct{ Fields []botField }
	Types   map[string]struct {
		Fields   []botField
		Subtypes []string
	}
}

type botField struct {
	Name     string
	Types    []string
	Required bool
}

func openBotAPI(raw []byte) (document, error) {
	var d botAPI
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	if len(d.Methods) == 0 || len(d.Types) == 0 {
		return nil, errors.New("it has no methods or no types")
	}
	return d, nil
}

func (d botAPI) check(c call) (known bool, problems []string) {
	m, known := d.Methods[c.path[strings.LastIndexByte(c.path, '/')+1:]]
	if !known {
		return false, nil
	}
	params, err := params(c)
	if err != nil {
		return true, []string{err.Error()}
	}
	return true, d.fields("", m.Fields, params)
}

// params are a call's parameters, from wherever the API takes them. Those of
// forms are texts, of whatever type they are meant to be.
func params(c call) (map[string]any, error) {
	out := map[string]any{}
	kind, attrs, err := mime.ParseMediaType(c.kind)
	if err != nil && c.body != "" {
		return nil, fmt.Errorf("content type %q: %w", c.kind, err)
	}
	switch kind {
	case "application/json":
		v, err := decoded(c.body)
		if err != nil {
			return nil, err
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("the body is no object")
		}
		return m, nil
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(c.body)
		if err != nil {
			return nil, fmt.Errorf("form: %w", err)
		}
		for k, v := range form {
			out[k] = formText(v[0])
		}
	case "multipart/form-data":
		for r := multipart.NewReader(strings.NewReader(c.body), attrs["boundary"]); ; {
			p, err := r.NextPart()
			if errors.Is(err, io.EOF) || err != nil && c.body == "" {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("form: %w", err)
			}
			text, err := io.ReadAll(p)
			if err != nil {
				return nil, fmt.Errorf("form: %w", err)
			}
			out[p.FormName()] = formText(text)
		}
	}
	return out, nil
}

// formText is a value whose type can't be seen.
type formText string

func (d botAPI) fields(at string, fields []botField, got map[string]any) (problems []string) {
	byName := map[string]botField{}
	for _, f := range fields {
		byName[f.Name] = f
		if _, ok := got[f.Name]; f.Required && !ok {
			problems = append(problems, at+f.Name+" is required")
		}
	}
	for name, v := range got {
		f, ok := byName[name]
		if !ok {
			problems = append(problems, "there is no "+at+name)
			continue
		}
		problems = append(problems, d.anyOf(at+name, f.Types, v)...)
	}
	return problems
}

// anyOf is right where one of the types is.
func (d botAPI) anyOf(at string, types []string, v any) (problems []string) {
	for _, typ := range types {
		p := d.is(at, typ, v)
		if len(p) == 0 {
			return nil
		}
		problems = append(problems, p...)
	}
	return problems
}

func (d botAPI) is(at, typ string, v any) []string {
	wrong := []string{fmt.Sprintf("%s is no %s: %.60v", at, typ, v)}
	text, inForm := v.(formText)
	var ok bool
	switch typ {
	case "String":
		if _, ok = v.(string); inForm {
			ok = true
		}
	case "Integer":
		n, isNum := v.(float64)
		ok = isNum && n == float64(int64(n))
		if inForm {
			_, err := strconv.ParseInt(string(text), 10, 64)
			ok = err == nil
		}
	case "Float":
		if _, ok = v.(float64); inForm {
			_, err := strconv.ParseFloat(string(text), 64)
			ok = err == nil
		}
	case "Boolean", "True":
		if _, ok = v.(bool); inForm {
			ok = text == "true" || text == "false"
		}
	default:
		if inForm {
			var err error
			if v, err = decoded(string(text)); err != nil {
				return wrong
			}
		}
		return d.composite(at, typ, v, wrong)
	}
	if ok {
		return nil
	}
	return wrong
}

func (d botAPI) composite(at, typ string, v any, wrong []string) (problems []string) {
	if item, list := strings.CutPrefix(typ, "Array of "); list {
		items, ok := v.([]any)
		if !ok {
			return wrong
		}
		for i, v := range items {
			problems = append(problems, d.is(fmt.Sprint(at, "[", i, "]"), item, v)...)
		}
		return problems
	}
	t, ok := d.Types[typ]
	m, object := v.(map[string]any)
	if !ok || !object {
		return wrong
	}
	if len(t.Subtypes) > 0 {
		return d.anyOf(at, t.Subtypes, v)
	}
	return d.fields(at+".", t.Fields, m)
}
