package mcptool

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// decode is a result as it comes from a server; false where the SDK refuses it.
func decode(raw string) (*mcp.CallToolResult, bool) {
	var res mcp.CallToolResult
	return &res, json.Unmarshal([]byte(raw), &res) == nil
}

func TestResult_A7_WhatAModelIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw, want string
		failed    bool
	}{
		"text":               {`{"content":[{"type":"text","text":"hola"}]}`, "hola", false},
		"texts":              {`{"content":[{"type":"text","text":"one"},{"type":"text","text":""},{"type":"text","text":"two"}]}`, "one\ntwo", false},
		"nothing":            {`{"content":[]}`, "ok", false},
		"json in a text":     {`{"content":[{"type":"text","text":" {\"id\": 9007199254740993} "}]}`, `{"id":9007199254740993}`, false},
		"structured":         {`{"content":[],"structuredContent":{"b":1,"a":[true,null]}}`, `{"a":[true,null],"b":1}`, false},
		"structured wins":    {`{"content":[{"type":"text","text":"two things"}],"structuredContent":{"n":2}}`, `{"n":2}`, false},
		"same text is exact": {`{"content":[{"type":"text","text":"{\"z\":1,\"id\":9007199254740993}"}],"structuredContent":{"id":9007199254740993,"z":1}}`, `{"z":1,"id":9007199254740993}`, false},
		"inexact":            {`{"content":[{"type":"text","text":"order 9007199254740993"}],"structuredContent":{"id":9007199254740993}}`, "order 9007199254740993", false},
		"image":              {`{"content":[{"type":"text","text":"here"},{"type":"image","mimeType":"image/png","data":"aGVsbG8="}]}`, "here\n[image, image/png, 5 bytes]", false},
		"audio":              {`{"content":[{"type":"audio","mimeType":"audio/ogg","data":"aGVsbG8="}]}`, "[audio, audio/ogg, 5 bytes]", false},
		"link":               {`{"content":[{"type":"resource_link","name":"a","uri":"file:///a.txt","mimeType":"text/plain","size":12}]}`, "[resource file:///a.txt, text/plain, 12 bytes]", false},
		"text resource":      {`{"content":[{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"hola"}}]}`, "[resource file:///a.txt, text/plain, 4 bytes]\nhola", false},
		"blob":               {`{"content":[{"type":"resource","resource":{"uri":"file:///a.bin","blob":"aGVsbG8="}}]}`, "[resource file:///a.bin, of an unknown type, 5 bytes]", false},
		"error":              {`{"content":[{"type":"text","text":"no such file"}],"isError":true}`, `{"error":"tool_failed","message":"no such file"}`, true},
		"error in silence":   {`{"content":[],"isError":true}`, `{"error":"tool_failed","message":"The tool failed and didn't say why."}`, true},
		"a credential":       {`{"content":[{"type":"text","text":"key canary-credential is bad"}]}`, "key *** is bad", false},
		"in structure":       {`{"content":[],"structuredContent":{"key":"canary-credential"}}`, `{"key":"***"}`, false},
		"in Base64":          {`{"content":[{"type":"text","text":"Basic dTpjYW5hcnktY3JlZGVudGlhbA=="}]}`, "Basic dT***==", false},
		"a number":           {`{"content":[],"structuredContent":{"n":12345678}}`, `{"n":"***"}`, false},
		"in an error":        {`{"content":[{"type":"text","text":"canary-credential"}],"isError":true}`, `{"error":"tool_failed","message":"***"}`, true},
	} {
		res, ok := decode(tc.raw)
		if !ok {
			t.Errorf("%s: the SDK doesn't take it", name)
			continue
		}
		got := result(res, secret.NewMasks(secret.Least, "canary-credential", "12345678"))
		if diff := cmp.Diff(tc.want, tool.Content(got, 0)); diff != "" || got.Failed != tc.failed {
			t.Errorf("%s: failed %v, %s", name, got.Failed, diff)
		}
	}
}

// FuzzResult: whatever a server answers, a model gets valid text within the cap,
// and no credential.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"hola"}]}`,
		`{"content":[{"type":"text","text":"{\"a\":1e400}"}],"structuredContent":{"a":1e300}}`,
		`{"content":[{"type":"image","mimeType":"a\nb","data":"AA=="},{"type":"audio","data":""}],"isError":true}`,
		`{"content":[{"type":"resource","resource":{"uri":"\u202e","text":"\ud800"}},{"type":"resource_link","uri":"x","name":"y","size":-9}]}`,
		`{"content":[{"type":"tool_use","id":"1","name":"x","input":{}}],"structuredContent":[1,"canary-credential",{"canary-credential":null}]}`,
		`{"content":null,"structuredContent":"canary-credential"}`, `{"content":[{"type":"resource","resource":null}]}`, `{}`, `null`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		res, ok := decode(raw)
		if !ok {
			t.Skip()
		}
		got := result(res, secret.NewMasks(secret.Least, "canary-credential", "12345678"))
		if got.Value != nil && !json.Valid(got.Value) {
			t.Errorf("no JSON: %s", got.Value)
		}
		text := tool.Content(got, 0)
		if len(text) > tool.DefaultOutputCap || !utf8.ValidString(text) || strings.Contains(text, "canary-credential") {
			t.Errorf("%d bytes, valid %v: %.200s", len(text), utf8.ValidString(text), text)
		}
		if got.Failed != res.IsError {
			t.Errorf("failed %v, isError %v", got.Failed, res.IsError)
		}
	})
}
