package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestEvent_D1_NamesAndFields(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event Event
		want  string
	}{
		"everything": {
			Event{At: 1700000000123, Type: ConfirmApproved, Step: 2, Turn: "t", Tool: "place_order", CallID: "t.2.0", ChatKey: "web:1", Args: json.RawMessage(`{"b":1,"a":1.50}`), DurationMs: 7, Error: "e", Actor: "u"},
			`{"at":1700000000123,"type":"tool.confirm.approved","step":2,"turn":"t","tool":"place_order","callId":"t.2.0","chatKey":"web:1","args":{"b":1,"a":1.50},"error":"e","actor":"u","durationMs":7}`,
		},
		"as little as can be":      {Event{At: 1, Type: LoopMaxSteps, Step: 5}, `{"at":1,"type":"loop.max_steps","step":5}`},
		"a fast call":              {Event{At: 1, Type: ToolResult, Step: 1}, `{"at":1,"type":"tool.result","step":1,"durationMs":0}`},
		"a clock that went back":   {Event{At: 1, Type: OutcomeUnknown, Step: 1, DurationMs: -4}, `{"at":1,"type":"tool.outcome_unknown","step":1,"durationMs":0}`},
		"arguments that are none":  {Event{At: 1, Type: ToolInvalidArgs, Step: 1, Args: json.RawMessage("{\"a\": \n")}, `{"at":1,"type":"tool.invalid_args","step":1,"args":"{\"a\": \n"}`},
		"arguments over two lines": {Event{At: 1, Type: ToolCall, Step: 1, Args: json.RawMessage("{\n\"a\": \"x\\ny\"}")}, `{"at":1,"type":"tool.call","step":1,"args":{"a":"x\ny"}}`},
	} {
		got, err := json.Marshal(tc.event)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, tc.want)
		}
		if strings.Contains(string(got), "\n") {
			t.Errorf("%s: more than one line", name)
		}
	}
	names := []string{
		ToolCall, ConfirmRequested, ConfirmApproved, ConfirmDenied, ConfirmCancelled, ConfirmReplied, ToolDuplicate, ToolResult,
		ToolError, ToolTimeout, ToolInvalidArgs, ToolUnknown, ToolTruncated, OutcomeUnknown, LoopMaxSteps,
	}
	want := strings.Fields(`tool.call tool.confirm.requested tool.confirm.approved tool.confirm.denied tool.confirm.cancelled
		tool.confirm.replied tool.duplicate tool.result tool.error tool.timeout tool.invalid_args tool.unknown tool.truncated
		tool.outcome_unknown loop.max_steps`)
	if !slices.Equal(names, want) {
		t.Errorf("names: %v", names)
	}
}

func TestRedactor_D2(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		paths, in, mask, drop string
	}{
		"one":            {"args.card", `{"a":1,"card":"4111","z":[1]}`, `{"a":1,"card":"***","z":[1]}`, `{"a":1,"z":[1]}`},
		"absent":         {"args.card", `{"a":1}`, `{"a":1}`, `{"a":1}`},
		"deep":           {"args.pay.card", `{"pay":{"card":{"no":[1,{"x":2}]},"k":1},"card":2}`, `{"pay":{"card":"***","k":1},"card":2}`, `{"pay":{"k":1},"card":2}`},
		"star in a list": {"args.items.*.note", `{"items":[{"note":"a","q":1},{"q":2}]}`, `{"items":[{"note":"***","q":1},{"q":2}]}`, `{"items":[{"q":1},{"q":2}]}`},
		"list by name":   {"args.items.note", `{"items":[{"note":"a"},[{"note":"b"}]]}`, `{"items":[{"note":"***"},[{"note":"***"}]]}`, `{"items":[{},[{}]]}`},
		"one item":       {"args.items.1", `{"items":["a","b","c"]}`, `{"items":["a","***","c"]}`, `{"items":["a",null,"c"]}`},
		"all items":      {"args.items.*", `{"items":["a",{"b":1}]}`, `{"items":["***","***"]}`, `{"items":[null,null]}`},
		"any key":        {"args.*.id", `{"a":{"id":1},"b":{"id":2,"c":3}}`, `{"a":{"id":"***"},"b":{"id":"***","c":3}}`, `{"a":{},"b":{"c":3}}`},
		"digits kept":    {"args.x", `{"n":12345678901234567890,"f":1.50,"e":1E+2,"h":"<&>","x":1}`, `{"n":12345678901234567890,"f":1.50,"e":1E+2,"h":"<&>","x":"***"}`, `{"n":12345678901234567890,"f":1.50,"e":1E+2,"h":"<&>"}`},
		"escaped key":    {"args.card", `{"c\u0061rd":1}`, `{"card":"***"}`, `{}`},
		"twice":          {"args.card", `{"card":1,"card":2}`, `{"card":"***","card":"***"}`, `{}`},
		"two rules":      {"args.a args.b.c", `{"a":1,"b":{"c":2}}`, `{"a":"***","b":{"c":"***"}}`, `{"b":{}}`},
		"all":            {"args", `{"a":1}`, `"***"`, ``},
		"no JSON":        {"args.card", `{"card":"4111`, `"***"`, ``},
		"two values":     {"args.card", `{} "4111"`, `"***"`, ``},
		"no object":      {"args.card", `null`, `null`, `null`},
		"no rules":       {"", `{"card": 1}`, `{"card": 1}`, `{"card": 1}`},
	} {
		for drop, want := range map[bool]string{false: tc.mask, true: tc.drop} {
			r, err := NewRedactor(strings.Fields(tc.paths), drop)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Apply(Event{Args: json.RawMessage(tc.in)}); string(got.Args) != want {
				t.Errorf("%s (drop %v): got %s, want %s", name, drop, got.Args, want)
			}
		}
	}
	for _, bad := range []string{"card", "", "args..x", "args.", "result.x"} {
		if _, err := NewRedactor([]string{bad}, false); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// FuzzRedactor: the value at a redacted key never comes through, and what
// comes out is JSON.
func FuzzRedactor(f *testing.F) {
	f.Add(`{"card":"canary"}`)
	f.Add(`[{"card":["canary"]},{"a":{"card":"canary"}}]`)
	f.Add(`{"card":{"card":1},"x":[[{"card":2}]]}`)
	r, err := NewRedactor([]string{"args.card", "args.*.card"}, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := r.Apply(Event{Args: json.RawMessage(in)}).Args
		if len(in) == 0 {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
		var top map[string]any
		if json.Unmarshal(out, &top) == nil {
			if v, ok := top["card"]; ok && v != "***" {
				t.Errorf("card came through: %s", out)
			}
		}
	})
}

// Scripts read the lines of parley audit --json.
func TestRow_D1_KeysAreLowerCase(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Row{ID: 17, Event: json.RawMessage(`{"type":"tool_started"}`)})
	if want := `{"id":17,"event":{"type":"tool_started"}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
