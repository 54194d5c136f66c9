package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/secret"
)

// awkward has all that is escaped somewhere.
const awkward = `p"ss w/rd+<é>&\%!`

func TestMasks_TextHasNoForm(t *testing.T) {
	t.Parallel()
	html, _ := json.Marshal(awkward)
	m := secret.NewMasks(secret.Least, awkward, "canary-plain")
	for name, form := range map[string]string{
		"plain": awkward, "JSON": string(html), "Go": strconv.Quote(awkward), "query": url.QueryEscape(awkward), "path": url.PathEscape(awkward),
		"component": `p%22ss%20w%2Frd%2B%3C%C3%A9%3E%26%5C%25!`, "PHP": `p\"ss w\/rd+<é>&\\%!`, "other": "canary-plain",
	} {
		want := "a ***."
		if form[0] == '"' {
			want = `a "***".`
		}
		if got := m.Text("a " + form + "."); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// In Base64 nothing of a secret is left, wherever in a text it stands.
func TestMasks_Base64(t *testing.T) {
	t.Parallel()
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for n := range 6 {
			for after := range 4 {
				for _, v := range []string{awkward, "canary-1", "canary-22", "canary-333"} {
					whole := enc.EncodeToString([]byte(strings.Repeat("u", n) + v + strings.Repeat("z", after)))
					got := secret.NewMasks(secret.Least, v).Text("Basic " + whole)
					if !strings.Contains(got, "***") {
						t.Fatalf("%s in %q isn't masked", v, whole)
					}
					// What is left begins and ends as the whole without the secret does.
					head, tail, _ := strings.Cut(strings.TrimPrefix(got, "Basic "), "***")
					if len(head) > (n*8)/6 || len(strings.TrimRight(tail, "=")) > (after*8+5)/6 {
						t.Errorf("%q: %q and %q are left", whole, head, tail)
					}
				}
			}
		}
	}
}

func TestMasks_JSONStaysJSON(t *testing.T) {
	t.Parallel()
	m := secret.NewMasks(secret.Least, "12345678", `with"quote`, "é-secret-é", "short")
	for in, want := range map[string]string{
		`{"n": 12345678, "o":[123456789,1.50,true,null]}`:    `{"n": "***", "o":["***9",1.50,true,null]}`,
		`{"a":"x with\"quote y","with\"quote":1}`:            `{"a":"x *** y","***":1}`,
		`"\u00e9-secret-\u00e9 and short <\u00e9>"`:          `"*** and short <é>"`,
		`{"b":"{\"c\":\"with\\\"quote\"}"}`:                  `{"b":"{\"c\":\"***\"}"}`,
		`{"untouched":"\u00e9\/ 1e400","big":1234567000001}`: `{"untouched":"\u00e9\/ 1e400","big":1234567000001}`,
		`not JSON 12345678`:                                  `not JSON ***`,
	} {
		if got := string(m.JSON([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	var none secret.Masks
	if got := string(none.JSON([]byte(`{"a":1}`))); got != `{"a":1}` {
		t.Errorf("no masks: %s", got)
	}
}
