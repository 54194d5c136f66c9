package httptool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

func testGuard(t testing.TB, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.New(allow, egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

const idSchema = `{"type":"object","properties":{"id":{"type":"string"},"q":{"type":"string"}}}`

func TestNew_ConfigErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"method":                   {Config{Method: "TRACE", URL: "https://shop.example.com/"}, "TRACE"},
		"effect":                   {Config{URL: "https://shop.example.com/", Effect: "maybe"}, "maybe"},
		"scheme":                   {Config{URL: "ftp://shop.example.com/"}, "http://"},
		"scheme as a placeholder":  {Config{URL: "{id}://shop.example.com/"}, "http://"},
		"no host":                  {Config{URL: "https:///menu"}, "no host"},
		"fragment":                 {Config{URL: "https://shop.example.com/#a"}, "fragment"},
		"credentials":              {Config{URL: "https://canary:canary@shop.example.com/"}, "credentials"},
		"space":                    {Config{URL: "https://shop.example.com/a b"}, "escaped"},
		"bad escape":               {Config{URL: "https://shop.example.com/%zz?key=canary"}, "malformed"},
		"bad escape in the query":  {Config{URL: "https://shop.example.com/?a=%zz&key=canary"}, "malformed"},
		"open brace":               {Config{URL: "https://shop.example.com/{id", Schema: json.RawMessage(idSchema)}, "{name}"},
		"closing brace":            {Config{URL: "https://shop.example.com/id}", Schema: json.RawMessage(idSchema)}, "{name}"},
		"empty placeholder":        {Config{URL: "https://shop.example.com/{}"}, "{name}"},
		"placeholder as a key":     {Config{URL: "https://shop.example.com/?{id}=1", Schema: json.RawMessage(idSchema)}, "key"},
		"unknown placeholder":      {Config{URL: "https://shop.example.com/{nr}", Schema: json.RawMessage(idSchema)}, "{nr}"},
		"placeholder, no schema":   {Config{URL: "https://shop.example.com/{id}"}, "{id}"},
		"query key twice":          {Config{URL: "https://shop.example.com/?q=1", Schema: json.RawMessage(idSchema)}, `"q"`},
		"query key bound too":      {Config{URL: "https://shop.example.com/?who=1", Bind: map[string]string{"who": "user.id"}}, `"who"`},
		"host not listed":          {Config{URL: "https://evil.example/"}, "fetch.allow"},
		"private, not listed":      {Config{URL: "http://127.0.0.1:80/"}, "fetch.allow"},
		"decimal host":             {Config{URL: "http://2130706433/"}, "number"},
		"host of another port":     {Config{URL: "https://api.example.com/"}, "fetch.allow"},
		"bound name in the schema": {Config{URL: "https://shop.example.com/", Schema: json.RawMessage(idSchema), Bind: map[string]string{"id": "user.id"}}, `"id"`},
		"the same in other case":   {Config{URL: "https://shop.example.com/", Schema: json.RawMessage(idSchema), Bind: map[string]string{"ID": "user.id"}}, `"ID"`},
		"unknown identity":         {Config{URL: "https://shop.example.com/", Bind: map[string]string{"a": "user.email"}}, "user.email"},
		"empty claim":              {Config{URL: "https://shop.example.com/", Bind: map[string]string{"a": "user.claims."}}, "user.claims."},
		"bound twice":              {Config{URL: "https://shop.example.com/", Bind: map[string]string{"a": "user.id", "A": "channel"}}, "twice"},
		"header name":              {Config{URL: "https://shop.example.com/", Headers: map[string]secret.String{"X Key": secret.New("canary")}}, "X Key"},
		"header of the connection": {Config{URL: "https://shop.example.com/", Headers: map[string]secret.String{"host": secret.New("canary")}}, "host"},
		"header that is the id":    {Config{URL: "https://shop.example.com/", Headers: map[string]secret.String{"idempotency-key": secret.New("canary")}}, "id of the call"},
		"header with a line break": {Config{URL: "https://shop.example.com/", Headers: map[string]secret.String{"X-Key": secret.New("canary\r\nX: 1")}}, "X-Key"},
		"header twice":             {Config{URL: "https://shop.example.com/", Headers: map[string]secret.String{"X-Key": secret.New("canary"), "x-key": secret.New("b")}}, "twice"},
		"credential to any host":   {Config{URL: "https://{id}/", Schema: json.RawMessage(idSchema), Headers: map[string]secret.String{"X-Key": secret.New("canary")}}, "placeholder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(tc.c, testGuard(t, "shop.example.com", "api.example.com:8443"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one with %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}

func TestNew_TakesWhatIsRight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"plain":                      {URL: "https://shop.example.com/menu"},
		"no path":                    {URL: "https://shop.example.com"},
		"lower-case method":          {Method: "post", URL: "https://shop.example.com/"},
		"placeholders":               {URL: "https://shop.example.com/a/{id}.json?x={q}", Schema: json.RawMessage(idSchema)},
		"the key takes the argument": {URL: "https://shop.example.com/?q={q}", Schema: json.RawMessage(idSchema)},
		"bound in the path":          {URL: "https://shop.example.com/{customer}", Bind: map[string]string{"customer": "user.id"}},
		"schema that can't be read":  {URL: "https://shop.example.com/{id}", Schema: json.RawMessage(`{"$ref":"#/$defs/a"}`)},
		"host as a placeholder":      {URL: "https://{id}/", Schema: json.RawMessage(idSchema)},
	} {
		if _, err := New(c, testGuard(t, "shop.example.com")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDefaultEffect_G4(t *testing.T) {
	t.Parallel()
	got := map[string]tool.Effect{}
	for _, m := range []string{"", "get", "HEAD", "DELETE", "POST", "PUT", "PATCH"} {
		got[m] = DefaultEffect(m)
	}
	want := map[string]tool.Effect{"": tool.Read, "get": tool.Read, "HEAD": tool.Read, "DELETE": tool.Unsafe, "POST": tool.Unsafe, "PUT": tool.Unsafe, "PATCH": tool.Unsafe}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCode_B28_ChangesWithTheRequestNotWithTheToken(t *testing.T) {
	t.Parallel()
	base := Config{Method: "POST", URL: "https://shop.example.com/a", Bind: map[string]string{"c": "user.id"}, Headers: map[string]secret.String{"X-Key": secret.New("canary")}}
	rotated := base
	rotated.Headers = map[string]secret.String{"x-key": secret.New("other")}
	if d := cmp.Diff(base.Code(), rotated.Code()); d != "" {
		t.Errorf("a new token changes it: %s", d)
	}
	if strings.Contains(strings.Join(base.Code(), " "), "canary") {
		t.Error("it holds the secret")
	}
	for name, change := range map[string]func(*Config){
		"method": func(c *Config) { c.Method = "PUT" },
		"url":    func(c *Config) { c.URL += "b" },
		"bind":   func(c *Config) { c.Bind = map[string]string{"c": "user.name"} },
		"header": func(c *Config) { c.Headers = nil },
	} {
		c := base
		change(&c)
		if cmp.Equal(base.Code(), c.Code()) {
			t.Errorf("%s doesn't change it", name)
		}
	}
}
