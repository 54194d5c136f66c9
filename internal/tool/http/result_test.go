package httptool

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/tool"
)

func answer(status int, contentType, body string) egress.Response {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return egress.Response{Status: status, Header: h, Body: []byte(body)}
}

func TestDecode_Windows1252(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	want, err := charmap.Windows1252.NewDecoder().Bytes(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"windows-1252", "CP1252", "ISO-8859-1", "latin1"} {
		if got, ok := decode(all, name, false); !ok || got != string(want) {
			t.Errorf("%s: %q\nwant %q", name, got, want)
		}
	}
}

func TestResult_A7_BodiesAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		resp   egress.Response
		want   string // what the model reads
		value  string // the JSON value; "" isn't compared
		failed bool
	}{
		"json":                    {answer(200, "application/json; charset=utf-8", ` {"b": 1.50, "a": 9007199254740993} `), `{"b":1.50,"a":9007199254740993}`, "", false},
		"problem json":            {answer(200, "application/vnd.shop+json", `[1]`), `[1]`, `[1]`, false},
		"a json string":           {answer(200, "application/json", `"done"`), `done`, `"done"`, false},
		"a json null":             {answer(200, "application/json", `null`), `null`, `null`, false},
		"json without a type":     {answer(200, "", `{"error":"sold out"}`), `{"error":"sold out"}`, `{"error":"sold out"}`, false},
		"json by a guessed type":  {answer(201, "text/plain; charset=utf-8", `{"id":7}`), `{"id":7}`, `{"id":7}`, false},
		"a number as text":        {answer(200, "text/plain", `12`), `12`, `"12"`, false},
		"what claims to be json":  {answer(200, "application/json", `{oops`), `{oops`, `"{oops"`, false},
		"text":                    {answer(200, "text/plain", "open\nuntil 8 <b>"), "open\nuntil 8 <b>", "", false},
		"text with a mark":        {answer(200, "text/plain", "\ufeffhola"), "hola", "", false},
		"html":                    {answer(200, "text/html", "<p>hi</p>"), "<p>hi</p>", "", false},
		"latin-1":                 {answer(200, "text/plain; charset=ISO-8859-1", "caf\xe9"), "café", "", false},
		"empty":                   {answer(204, "", ""), "ok", "", false},
		"blank json":              {answer(200, "application/json", " \n"), "ok", "", false},
		"a picture":               {answer(200, "image/png", "\x89PNG\r\n\x00\xff"), "[8 bytes of image/png, which is no text]", "", false},
		"bad type":                {answer(200, ";;;", "hi"), "hi", "", false},
		"not found":               {answer(404, "application/json", `{"reason":"no such order","n":1.0}`), `{"body":{"reason":"no such order","n":1.0},"error":"http_status","status":404}`, "", true},
		"an error page":           {answer(500, "text/html", "<h1>"), `{"body":"<h1>","error":"http_status","status":500}`, "", true},
		"an error without a body": {answer(503, "", ""), `{"error":"http_status","status":503}`, "", true},
		"a redirect to nowhere":   {answer(302, "", ""), `{"error":"http_status","status":302}`, "", true},
		"bad UTF-8 in json":       {answer(200, "application/json", "{\"a\":\"\xff\"}"), "{\"a\":\"\ufffd\"}", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := result(tc.resp, tool.DefaultOutputCap)
			if got := tool.Content(res, 0); got != tc.want || res.Failed != tc.failed {
				t.Errorf("got  %q failed %v\nwant %q failed %v", got, res.Failed, tc.want, tc.failed)
			}
			if tc.value != "" && string(res.Value) != tc.value {
				t.Errorf("value %s, want %s", res.Value, tc.value)
			}
			if res.Value != nil && !json.Valid(res.Value) {
				t.Errorf("the value is no JSON: %s", res.Value)
			}
		})
	}
}

func TestResult_E5_CutsAreMarkedAndWithinTheCap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("né", 30<<10)
	for name, tc := range map[string]struct {
		resp egress.Response
		mark string
	}{
		"cut while reading":         {egress.Response{Status: 200, Body: []byte(long[:(32<<10)-1]), Truncated: true}, "[cut: only the first 32767 bytes were read]"},
		"json cut while reading":    {egress.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: bytes.Repeat([]byte("1"), 100), Truncated: true}, "[cut: only the first 100 bytes were read]"},
		"an error page":             {answer(500, "text/plain", long[:20478]), "[cut: the whole is 20478 bytes]"},
		"grown by its encoding":     {answer(200, "text/plain; charset=latin1", strings.Repeat("\xe9", 30<<10)), "[cut: the whole is 30720 bytes]"},
		"a json error that is long": {answer(500, "application/json", `{"a":"`+strings.Repeat("x", 9<<10)+`"}`), "[cut: the whole is 9224 bytes]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tool.Content(result(tc.resp, tool.DefaultOutputCap), 0)
			if !strings.Contains(got, tc.mark) {
				t.Errorf("no mark in …%q", got[max(0, len(got)-80):])
			}
			if len(got) > tool.DefaultOutputCap || !utf8.ValidString(got) || strings.Contains(got, "\ufffd") {
				t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
			}
		})
	}
}
