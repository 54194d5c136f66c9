package httptool

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestFill_E1_EscapesByPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url, args, want string
		bad             []string // paths of violations
	}{
		"path segment":              {"https://h/o/{id}", `{"id":"a b/c?d#e&f=g%h;é"}`, "https://h/o/a%20b%2Fc%3Fd%23e&f=g%25h%3B%C3%A9", nil},
		"another host":              {"https://h/{id}", `{"id":"@evil.example/"}`, "https://h/@evil.example%2F", nil},
		"right after the host":      {"https://h{id}", `{"id":".evil.example"}`, "https://h.evil.example", nil}, // in the host: the guard decides
		"backslash":                 {"https://h/{id}", `{"id":"\\\\evil"}`, "https://h/%5C%5Cevil", nil},
		"number as written":         {"https://h/{n}", `{"n":12345678901234567890}`, "https://h/12345678901234567890", nil},
		"boolean":                   {"https://h/{b}", `{"b":true}`, "https://h/true", nil},
		"query value":               {"https://h/?q={q}&x=1", `{"q":"a&b=c d+é#"}`, "https://h/?q=a%26b%3Dc+d%2B%C3%A9%23&x=1", nil},
		"absent in the query":       {"https://h/?q={q}&x=1", `{}`, "https://h/?x=1", nil},
		"null in the query":         {"https://h/?q={q}", `{"q":null}`, "https://h/", nil},
		"part of a query value":     {"https://h/?q=a{q}b", `{}`, "https://h/?q=ab", nil},
		"empty in the query":        {"https://h/?q={q}", `{"q":""}`, "https://h/?q=", nil},
		"bare key":                  {"https://h/?all", `{}`, "https://h/?all", nil},
		"control characters":        {"https://h/{id}", `{"id":"a\r\nX: 1\u0000"}`, "https://h/a%0D%0AX:%201%00", nil},
		"dots":                      {"https://h/o/{id}", `{"id":".."}`, "", []string{"/id"}},
		"one dot":                   {"https://h/o/{id}", `{"id":"."}`, "", []string{"/id"}},
		"dots of two placeholders":  {"https://h/o/{id}{n}/x", `{"id":".","n":"."}`, "", []string{"/n"}},
		"dots with a literal":       {"https://h/o/.{id}/x", `{"id":"."}`, "", []string{"/id"}},
		"dots with an escaped one":  {"https://h/o/%2e{id}/x", `{"id":"."}`, "", []string{"/id"}},
		"climbing":                  {"https://h/o/{id}", `{"id":"a/../../admin"}`, "", []string{"/id"}},
		"climbing with backslashes": {"https://h/o/{id}", `{"id":"a\\..\\b"}`, "", []string{"/id"}},
		"dots in a name are fine":   {"https://h/o/{id}", `{"id":"a..b.json"}`, "https://h/o/a..b.json", nil},
		"empty":                     {"https://h/orders/{id}", `{"id":""}`, "", []string{"/id"}},
		"absent":                    {"https://h/orders/{id}", `{}`, "", []string{"/id"}},
		"null":                      {"https://h/orders/{id}", `{"id":null}`, "", []string{"/id"}},
		"a list":                    {"https://h/orders/{id}", `{"id":["a"]}`, "", []string{"/id"}},
		"host":                      {"https://{h}/x", `{"h":"b.example:8443"}`, "https://b.example:8443/x", nil},
		"host that ends early":      {"https://{h}.shop.example.com/x", `{"h":"evil.example/"}`, "https://!.shop.example.com/x", nil},
		"host with an at sign":      {"https://{h}.shop.example.com/x", `{"h":"a@evil.example"}`, "https://!.shop.example.com/x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tpl, err := parseTemplate(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			vs, err := members([]byte(tc.args))
			if err != nil {
				t.Fatal(err)
			}
			got, violations := tpl.fill(vs, nil)
			var bad []string
			for _, v := range violations {
				bad = append(bad, v.Path)
			}
			if d := cmp.Diff(tc.bad, bad); d != "" {
				t.Fatalf("violations (-want +got):\n%s", d)
			}
			if tc.bad == nil && got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestParams_Queries(t *testing.T) {
	t.Parallel()
	vs, err := members([]byte(`{"z":"1&2","n":1.50,"big":9007199254740993,"ok":false,"none":null,"list":["a",2],"deep":[{"a":1}],"o":{"b": 2},"empty":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []param{{"z", "1&2"}, {"n", "1.50"}, {"big", "9007199254740993"}, {"ok", "false"}, {"list", "a"}, {"list", "2"}, {"deep", `[{"a":1}]`}, {"o", `{"b":2}`}}
	if d := cmp.Diff(want, vs.params(), cmp.AllowUnexported(param{})); d != "" {
		t.Error(d)
	}
}

// Whatever a model writes, the request goes to the host of the template, and
// to a path with as many segments.
func FuzzFill(f *testing.F) {
	for _, s := range []string{"", "..", "../..", "a/b", "@evil", "\\\\evil", "%2e%2e", "?x#y", "\r\n", "é\u202e", "http://evil/", ";a=b"} {
		f.Add(s)
	}
	tpl, err := parseTemplate("https://shop.example.com/orders/{id}/items?q={id}&x=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // arguments are valid JSON
		}
		raw, bad := tpl.fill(values{{"id", quote(s)}}, []param{{s, s}})
		if bad != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if u.Host != "shop.example.com" || u.Fragment != "" || strings.Count(u.EscapedPath(), "/") != 3 || u.Query().Get("x") != "1" && s != "x" {
			t.Errorf("%q became %s", s, raw)
		}
		if got := u.Query().Get("q"); got != s {
			t.Errorf("q is %q, want %q", got, s)
		}
		if j := u.JoinPath("."); strings.TrimSuffix(j.EscapedPath(), "/") != u.EscapedPath() {
			t.Errorf("%q climbs: %s", s, raw)
		}
	})
}
