package script_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/script"
)

func TestArgs_KeepTypesAndOrder(t *testing.T) {
	t.Parallel()
	p := load(t, `
extract: {n: {numbers: en}}
rules:
  - when: {tool: t}
    call:
      tool: u
      args:
        z: "{result.list}"
        a: "{result.obj}"
        num: "{result.num}"
        text: "n is {result.num}, <&>"
        gone: "{result.nothing?}"
        nil: "{result.nil}"
        list: ["{result.no?}", 1, true, null, 12345678901234567890, 0x10, 1.50, "5", {k: "{n?}"}]
        <<: {merged: 1, z: 2}
`)
	got := answer(t, p, says("x"), returns("t", `{"list": [1, {"b":2,"a":1}], "obj": {"y":1,"x":2}, "num": 1.0, "nil": null}`))
	want := `u({"z":[1, {"b":2,"a":1}],"a":{"y":1,"x":2},"num":1.0,"text":"n is 1.0, <&>","nil":null,` +
		`"list":[1,true,null,12345678901234567890,16,1.50,"5",{}],"merged":1})`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArgs_GroupsTakeTheSchemasType(t *testing.T) {
	t.Parallel()
	p := load(t, `[{when: {text: "^(\\S+)"}, call: {tool: t, args: {n: "{1}", s: "{1}", both: "{1}", list: ["{1}"], other: "{1}", text: "{1}!"}}}]`)
	tools := []llm.Card{{Name: "u"}, {Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{
		"n":{"type":"integer"},"s":{"type":"string"},"both":{"type":["number","string"]},"list":{"items":{"type":["number","null"]}},"text":{"type":"number"}}}`)}}
	for said, want := range map[string]string{
		"12":   `{"n":12,"s":"12","both":"12","list":[12],"other":"12","text":"12!"}`,
		"007":  `{"n":"007","s":"007","both":"007","list":["007"],"other":"007","text":"007!"}`,
		"true": `{"n":"true","s":"true","both":"true","list":["true"],"other":"true","text":"true!"}`,
	} {
		got, err := p.Generate(t.Context(), llm.Request{Messages: []llm.Message{says(said)}, Tools: tools}, nil)
		if err != nil || got.Calls[0].Args != want {
			t.Errorf("%s: got %+v, %v", said, got.Calls, err)
		}
	}
}

func TestArgs_AsText(t *testing.T) {
	t.Parallel()
	p := load(t, `rules: [{call: {tool: t, args: '{{"product": "{user}'}, stop: length}]`)
	got, err := p.Generate(t.Context(), llm.Request{Messages: []llm.Message{says("caf")}}, nil)
	if err != nil || got.Calls[0].Args != `{"product": "caf` || got.Stop != llm.StopLength {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestArgs_AliasesDontExplode(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("rules:\n  - call:\n      tool: t\n      args:\n        a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		n := strconv.Itoa(i)
		b.WriteString("        a" + strconv.Itoa(i+1) + ": &a" + strconv.Itoa(i+1) + " [" + strings.Repeat("*a"+n+", ", 9) + "*a" + n + "]\n")
	}
	if _, err := script.New([]byte(b.String()), "m.yaml"); err == nil {
		t.Error("taken")
	}
}
