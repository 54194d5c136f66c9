package platforms

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// openAPI is a document of that kind, in JSON or YAML.
type openAPI struct {
	paths      map[string]map[string]operation
	components any
}

type operation struct {
	Parameters  []struct{ Name, In string }
	RequestBody struct {
		Content map[string]struct{ Schema any }
	} `json:"requestBody"`
}

func openOpenAPI(raw []byte) (document, error) {
	var whole struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas any }
	}
	read := yaml.Unmarshal
	if json.Valid(raw) {
		read = json.Unmarshal // it escapes some characters in a way that YAML doesn't know
	}
	if err := read(raw, &whole); err != nil {
		return nil, err
	}
	if len(whole.Paths) == 0 {
		return nil, errors.New("it has no paths")
	}
	d := openAPI{paths: map[string]map[string]operation{}}
	for path, methods := range whole.Paths {
		d.paths[path] = map[string]operation{}
		for method, v := range methods {
			switch method {
			case "get", "post", "delete", "put", "patch":
			default:
				continue
			}
			m, ok := v.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s of %s is no object", method, path)
			}
			var op operation
			if err := again(map[string]any{"parameters": m["parameters"], "requestBody": m["requestBody"]}, &op); err != nil {
				return nil, fmt.Errorf("%s of %s: %w", method, path, err)
			}
			d.paths[path][method] = op
		}
	}
	if err := again(whole.Components.Schemas, &d.components); err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	closeTogether(d.components)
	return d, nil
}

// below is a document whose paths begin below that of the server.
type below struct {
	document
	prefix string
}

func openDiscord(raw []byte) (document, error) {
	d, err := openOpenAPI(raw)
	return below{d, "/api/v10"}, err
}

func (d below) check(c call) (known bool, problems []string) {
	c.path = strings.TrimPrefix(c.path, d.prefix)
	return d.document.check(c)
}

// again makes of a value what JSON would have made of it.
func again(v, out any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// closeTogether mends what the WhatsApp document says and can't mean: each branch of an
// allOf forbids the fields of the others. They are forbidden beside the allOf
// instead.
func closeTogether(v any) {
	switch v := v.(type) {
	case map[string]any:
		branches, _ := v["allOf"].([]any)
		for _, b := range branches {
			if m, ok := b.(map[string]any); ok && m["additionalProperties"] == false {
				delete(m, "additionalProperties")
				v["unevaluatedProperties"] = false
			}
		}
		for _, c := range v {
			closeTogether(c)
		}
	case []any:
		for _, c := range v {
			closeTogether(c)
		}
	}
}

// find is the operation whose path has the same words as the call's.
func (d openAPI) find(method, path string) (op operation, ok bool) {
	most := -1
	for template, methods := range d.paths {
		words, fits := match(template, path)
		if o, has := methods[strings.ToLower(method)]; fits && has && words > most {
			op, ok, most = o, true, words
		}
	}
	return op, ok
}

// match counts the words that a template and a path share.
func match(template, path string) (words int, ok bool) {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return 0, false
	}
	for i := range a {
		before, rest, variable := strings.Cut(a[i], "{")
		_, after, _ := strings.Cut(rest, "}")
		switch {
		case !variable && a[i] == b[i]:
			words++
		case !variable, !strings.HasPrefix(b[i], before), !strings.HasSuffix(b[i], after):
			return 0, false
		}
	}
	return words, words > 1
}

func (d openAPI) check(c call) (known bool, problems []string) {
	op, known := d.find(c.method, c.path)
	if !known {
		return false, nil
	}
	query, err := url.ParseQuery(c.query)
	if err != nil {
		return true, []string{err.Error()}
	}
	for name := range query {
		found := false
		for _, p := range op.Parameters {
			found = found || p.In == "query" && p.Name == name
		}
		if !found {
			problems = append(problems, "there is no parameter "+name)
		}
	}
	if c.body == "" {
		return true, problems
	}
	kind, _, _ := strings.Cut(c.kind, ";")
	content, ok := op.RequestBody.Content[kind]
	if !ok {
		return true, append(problems, "it takes no "+c.kind)
	}
	return true, append(problems, d.body(content.Schema, kind, c.body)...)
}

func (d openAPI) body(schema any, kind, body string) []string {
	var value any
	var problems []string
	switch kind {
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(body)
		if err != nil {
			return []string{err.Error()}
		}
		top, _ := schema.(map[string]any)
		names, _ := top["properties"].(map[string]any)
		m := map[string]any{}
		for k, v := range form {
			m[k] = v[0]
			if _, ok := names[k]; !ok || len(v) > 1 {
				problems = append(problems, "there is no parameter "+k+", or it is there twice")
			}
		}
		value = m
	default:
		v, err := decoded(body)
		if err != nil {
			return []string{err.Error()}
		}
		m, ok := v.(map[string]any)
		if ok && m["status"] == "read" {
			return nil // the document leaves out that a message was read
		}
		// Nor does it know the text that comes back with a report, which
		// developers.facebook.com documents with the messages endpoint.
		delete(m, "biz_opaque_callback_data")
		value = v
	}
	comp := jsonschema.NewCompiler()
	comp.DefaultDraft(jsonschema.Draft2020)
	whole := map[string]any{"$ref": "#/body", "body": schema, "components": map[string]any{"schemas": d.components}}
	if err := comp.AddResource("mem:///document", whole); err != nil {
		return append(problems, err.Error())
	}
	compiled, err := comp.Compile("mem:///document")
	if err != nil {
		return append(problems, err.Error())
	}
	if err := compiled.Validate(value); err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}
