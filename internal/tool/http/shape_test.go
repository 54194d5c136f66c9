package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// request is what a server got.
type request struct {
	path, body string
	header     http.Header
}

// server keeps requests and gives each the same answer.
func server(t *testing.T, status int, answer string) (url string, got chan request) {
	t.Helper()
	got = make(chan request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- request{r.URL.RequestURI(), string(b), r.Header}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

const shapeArgs = `{"q":"pan \"dulce\" & té","id":"P-1","n":9007199254740993,"items":[{"z":1.50}]}`

func TestRun_E1_BodyTemplateEscapesByPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, args, want string }{
		"own value":       {`{"a":"{n}","b":"{items}"}`, shapeArgs, `{"a":9007199254740993,"b":[{"z":1.50}]}`},
		"within a text":   {`{"a":"x {q} {n}!","k":"{who}"}`, shapeArgs, `{"a":"x pan \"dulce\" & té 9007199254740993!","k":"u/1"}`},
		"a list in text":  {`{"a":"got {items}"}`, shapeArgs, `{"a":"got [{\"z\":1.50}]"}`},
		"absent":          {`{"a":"{q}","b":["{q}",1],"c":"<{q}>"}`, `{}`, `{"b":[1],"c":"<>"}`},
		"null":            {`{"a":"{q}"}`, `{"q":null}`, `{"a":null}`},
		"literals":        {`{"a":{"b":[true,null,1.50,12345678901234567890,"{ not one }","{\"x\":1}"]}}`, `{}`, `{"a":{"b":[true,null,1.50,12345678901234567890,"{ not one }","{\"x\":1}"]}}`},
		"breaking out":    {`{"a":"{q}","role":"user"}`, `{"q":"x\",\"role\":\"admin"}`, `{"a":"x\",\"role\":\"admin","role":"user"}`},
		"a whole value":   {`"{items}"`, shapeArgs, `[{"z":1.50}]`},
		"nothing of it":   {`"{items}"`, `{}`, `null`},
		"an empty object": {`{}`, shapeArgs, `{}`},
	} {
		url, got := server(t, 200, "")
		r := newRunner(t, Config{Method: "POST", URL: url, Schema: json.RawMessage(anyArgs), Body: json.RawMessage(tc.body), Bind: map[string]string{"who": "user.id"}}, hostOf(url))
		if res, err := r.Run(t.Context(), tool.Call{ID: "t.1.1", Args: json.RawMessage(tc.args), Identity: ana()}); err != nil || res.Failed {
			t.Errorf("%s: %v %s", name, err, res.Value)
			continue
		}
		if b := <-got; b.body != tc.want || b.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: body %s, want %s", name, b.body, tc.want)
		}
	}
}

func TestRun_Forms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, want string }{
		"of the arguments": {"", `q=pan+%22dulce%22+%26+t%C3%A9&n=9007199254740993&items=%5B%7B%22z%22%3A1.50%7D%5D`},
		"of a template":    {`{"Body":"{q}","To":["{id}","x&y"]}`, `Body=pan+%22dulce%22+%26+t%C3%A9&To=P-1&To=x%26y`},
	} {
		url, got := server(t, 200, "")
		c := Config{Method: "POST", URL: url + "/{id}", Schema: json.RawMessage(anyArgs), Form: true}
		if tc.body != "" {
			c.Body = json.RawMessage(tc.body)
		}
		if _, err := newRunner(t, c, hostOf(url)).Run(t.Context(), tool.Call{ID: "t.1.1", Args: json.RawMessage(shapeArgs)}); err != nil {
			t.Fatal(err)
		}
		if b := <-got; b.body != tc.want || b.header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Errorf("%s: %s as %s", name, b.body, b.header.Get("Content-Type"))
		}
	}
}

func TestRun_E1_HeaderPlaceholders(t *testing.T) {
	t.Parallel()
	url, got := server(t, 200, "")
	r := newRunner(t, Config{URL: url + "/x", Schema: json.RawMessage(anyArgs), Bind: map[string]string{"who": "user.id", "call": "call.id"}, Headers: map[string]secret.String{
		"X-Who": secret.New("user {who}"), "X-Q": secret.New("{q}"), "X-Gone": secret.New("{id}"), "X-Json": secret.New(`{"a":1}`), "X-Call": secret.New("{call}"),
	}}, hostOf(url))
	if _, err := r.Run(t.Context(), tool.Call{ID: "t.1.1", Args: json.RawMessage(`{"q":"a\r\nX-Evil: 1\u0000","n":1}`), Identity: ana()}); err != nil {
		t.Fatal(err)
	}
	b := <-got
	for name, want := range map[string]string{"X-Who": "user u/1", "X-Q": "a  X-Evil: 1", "X-Gone": "", "X-Json": `{"a":1}`, "X-Evil": "", "X-Call": "t.1.1"} {
		if h := b.header.Get(name); h != want {
			t.Errorf("%s: %q, want %q", name, h, want)
		}
	}
	if b.path != "/x?n=1" { // what headers took is not in the query
		t.Errorf("path %s", b.path)
	}
}

func TestRun_Auth(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		auth         Auth
		header, want string
	}{
		"bearer": {Auth{Bearer: secret.New("canary-token")}, "Authorization", "Bearer canary-token"},
		"basic":  {Auth{User: "ana", Password: secret.New("canary-pass")}, "Authorization", "Basic YW5hOmNhbmFyeS1wYXNz"},
		// echo -n '{"n":1}' | openssl dgst -sha256 -hmac canary-key
		"hmac":   {Auth{HMAC: secret.New("canary-key")}, "X-Signature", "4bfdeef089b63909643bbb753f25d77ec6359695a15ce938aed5e3a90c292a90"},
		"prefix": {Auth{HMAC: secret.New("canary-key"), Header: "X-Hub", Prefix: "sha256="}, "X-Hub", "sha256=4bfdeef089b63909643bbb753f25d77ec6359695a15ce938aed5e3a90c292a90"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, pass, _ := r.BasicAuth()
			_, _ = fmt.Fprintf(w, "%s|%s %s", r.Header.Get(tc.header), user, pass)
		}))
		t.Cleanup(s.Close)
		r := newRunner(t, Config{Method: "POST", URL: s.URL, Schema: json.RawMessage(anyArgs), Auth: tc.auth}, hostOf(s.URL))
		req, fail, err := r.request(tool.Call{ID: "t.1.1", Args: json.RawMessage(`{"n":1}`)})
		if err != nil || fail != nil || req.Header.Get(tc.header) != tc.want {
			t.Errorf("%s: %v, %s", name, err, req.Header.Get(tc.header))
		}
		res, err := r.Run(t.Context(), tool.Call{ID: "t.1.1", Args: json.RawMessage(`{"n":1}`)})
		if err != nil || strings.Contains(string(res.Value), "canary") || strings.Contains(string(res.Value), tc.want) {
			t.Errorf("%s: a proof came back: %v %s", name, err, res.Value)
		}
	}
}

func TestRun_StatusesMean(t *testing.T) {
	t.Parallel()
	statuses := []Status{{Match: "404", Error: "no such parcel"}, {Match: "4xx", Error: "refused"}, {Match: "409", Result: json.RawMessage(`{"already":true}`)}, {Match: "2xx", Result: json.RawMessage(`"done"`)}}
	for status, want := range map[int]string{
		404: `{"error":"no such parcel","status":404} true`, 403: `{"error":"refused","status":403} true`, 409: `{"already":true} false`,
		201: `"done" false`, 500: `{"body":{"secret":1},"error":"http_status","status":500} true`,
	} {
		url, _ := server(t, status, `{"secret":1}`)
		r := newRunner(t, Config{URL: url, Status: statuses}, hostOf(url))
		res, err := r.Run(t.Context(), tool.Call{ID: "t.1.1"})
		if got := fmt.Sprint(string(res.Value), " ", res.Failed); err != nil || got != want {
			t.Errorf("%d: %v %s, want %s", status, err, got, want)
		}
	}
}

type mapper func(answer json.RawMessage) (json.RawMessage, error)

func (m mapper) Result(_ context.Context, _ tool.Call, answer json.RawMessage) (json.RawMessage, error) {
	return m(answer)
}

func TestRun_ResultOfAnAnswer(t *testing.T) {
	t.Parallel()
	const answer = `{"data":{"items":[{"id":9007199254740993},{"id":2}],"a/b~c":1.50,"none":null}}`
	const done = `{"executed":true,"message":"It was done. The answer isn't what was expected, so it can't be shown."} false`
	const failed = `{"error":"unexpected_answer","message":"The answer isn't what was expected, so it can't be shown."} true`
	same := mapper(func(a json.RawMessage) (json.RawMessage, error) { return a, nil })
	broken := mapper(func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no body.x") })
	nothing := mapper(func(json.RawMessage) (json.RawMessage, error) { return nil, nil })
	for name, tc := range map[string]struct {
		method, pointer string
		m               Mapper
		answer, want    string
	}{
		"pointer":               {"GET", "/data/items/0/id", nil, answer, `9007199254740993 false`},
		"escaped pointer":       {"GET", "/data/a~1b~0c", nil, answer, `1.50 false`},
		"a null there":          {"GET", "/data/none", nil, answer, `null false`},
		"nothing there":         {"GET", "/data/items/2", nil, answer, failed},
		"no JSON":               {"GET", "/data", nil, `<html>`, failed},
		"no body":               {"GET", "/data", nil, ``, failed},
		"too long":              {"GET", "/data", nil, `{"data":"` + strings.Repeat("x", maxMapped) + `"}`, failed},
		"longer than a result":  {"GET", "/n", nil, `{"data":"` + strings.Repeat("x", 100_000) + `","n":1}`, `1 false`},
		"expression":            {"GET", "", same, `[1]`, `{"args":{"q":1},"body":[1],"status":200,"headers":null} false`},
		"expression of nothing": {"GET", "", nothing, `[1]`, ` false`},
		"that fails":            {"GET", "", broken, `[1]`, failed},
		"after an effect":       {"POST", "", broken, `[1]`, done},
		"pointer, effect":       {"POST", "/x", nil, `[1]`, done},
	} {
		url, _ := server(t, 200, tc.answer)
		r := newRunner(t, Config{Method: tc.method, URL: url, Schema: json.RawMessage(anyArgs), Pointer: tc.pointer, Map: tc.m}, hostOf(url))
		res, err := r.Run(t.Context(), tool.Call{ID: "t.1.1", Args: json.RawMessage(`{"q":1}`)})
		got := fmt.Sprint(string(res.Value), " ", res.Failed)
		if name == "expression" {
			var v struct {
				Args, Body json.RawMessage
				Status     int
				Headers    map[string]string
			}
			if err := json.Unmarshal(res.Value, &v); err != nil || string(v.Args) != `{"q":1}` || string(v.Body) != "[1]" || v.Status != 200 || v.Headers["content-type"] != "application/json" {
				t.Errorf("expression: %v %s", err, res.Value)
			}
			continue
		}
		if err != nil || got != tc.want || res.Unknown {
			t.Errorf("%s: %v %s, want %s", name, err, got, tc.want)
		}
	}
}

func TestNew_ShapeErrors(t *testing.T) {
	t.Parallel()
	token := secret.New("canary-token")
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"body of a GET":           {Config{Body: json.RawMessage(`{}`)}, "GET request has no body"},
		"form of a GET":           {Config{Form: true}, "GET request has no body"},
		"form of a list":          {Config{Method: "POST", Form: true, Body: json.RawMessage(`[1]`)}, "mapping"},
		"placeholder in the body": {Config{Method: "POST", Body: json.RawMessage(`{"a":["{nr}"]}`)}, "{nr}"},
		"placeholder in a header": {Config{Headers: map[string]secret.String{"X-A": secret.New("canary {nr}")}}, "X-A"},
		"two proofs":              {Config{Auth: Auth{Bearer: token, User: "a", Password: token}}, "bearer and basic"},
		"authorization twice":     {Config{Auth: Auth{Bearer: token}, Headers: map[string]secret.String{"authorization": token}}, "Authorization"},
		"hmac of a GET":           {Config{Auth: Auth{HMAC: token}}, "signs a body"},
		"hmac header":             {Config{Method: "POST", Auth: Auth{HMAC: token, Header: "Host"}}, "Host"},
		"hmac header twice":       {Config{Method: "POST", Auth: Auth{HMAC: token}, Headers: map[string]secret.String{"x-signature": token}}, "X-Signature"},
		"token with a line break": {Config{Auth: Auth{Bearer: secret.New("canary\r\nX: 1")}}, "line break"},
		"user with a colon":       {Config{Auth: Auth{User: "a:b", Password: token}}, "colon"},
		"proof to any host":       {Config{URL: "https://{id}/", Schema: json.RawMessage(idSchema), Auth: Auth{Bearer: token}}, "placeholder"},
		"pointer":                 {Config{Pointer: "/a~2"}, "JSON pointer"},
		"status":                  {Config{Status: []Status{{Match: "6xx", Error: "x"}}}, "6xx"},
		"status without meaning":  {Config{Status: []Status{{Match: "404"}}}, "404"},
		"status twice":            {Config{Status: []Status{{Match: "404", Error: "x"}, {Match: "404", Error: "y"}}}, "twice"},
	} {
		if tc.c.URL == "" {
			tc.c.URL = "https://shop.example.com/"
		}
		_, err := New(tc.c, testGuard(t, "shop.example.com"))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// What a person approved changes with what is sent and shown.
func TestCode_B28(t *testing.T) {
	t.Parallel()
	base := Config{Method: "POST", URL: "https://shop.example.com/"}
	seen := map[string]string{}
	for name, change := range map[string]func(*Config){
		"nothing": func(*Config) {}, "url": func(c *Config) { c.URL += "x" }, "body": func(c *Config) { c.Body = json.RawMessage(`{}`) },
		"form": func(c *Config) { c.Form = true }, "pointer": func(c *Config) { c.Pointer = "/a" }, "auth": func(c *Config) { c.Auth.Bearer = secret.New("x") },
		"status":      func(c *Config) { c.Status = []Status{{Match: "404", Error: "x"}} },
		"placeholder": func(c *Config) { c.Headers = map[string]secret.String{"X": secret.New("{id}")} },
	} {
		c := base
		change(&c)
		code := strings.Join(c.Code(), "\x00")
		if other, twice := seen[code]; twice {
			t.Errorf("%s and %s are the same", name, other)
		}
		seen[code] = name
	}
	a, b := base, base
	a.Auth.Bearer, b.Auth.Bearer = secret.New("one"), secret.New("two")
	if d := cmp.Diff(a.Code(), b.Code()); d != "" {
		t.Errorf("another token is another tool: %s", d)
	}
}

// Whatever an argument is, the body keeps its shape.
func FuzzBody(f *testing.F) {
	for _, s := range []string{"", `"`, `","role":"admin`, "\\", "\u2028", "{q}", "</script>", "\x00", "é\u202e"} {
		f.Add(s)
	}
	tpl, err := parseBody(json.RawMessage(`{"a":"{q}","b":"x {q} y","c":["{q}"],"role":"user"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, ok := tpl.fill(values{{"q", quote(s)}})
		var v struct {
			A, B string
			C    []string
			Role string
		}
		if err := json.Unmarshal(raw, &v); err != nil || !ok {
			t.Fatalf("%q: %v in %s", s, err, raw)
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		if v.Role != "user" || len(v.C) != 1 || v.B != "x "+v.A+" y" {
			t.Errorf("%q became %s", s, raw)
		}
	})
}
