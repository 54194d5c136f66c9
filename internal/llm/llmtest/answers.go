package llmtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/llm"
)

// answers proves what becomes of answers.
func (s suite) answers(t *testing.T, stream bool) {
	one := []llm.Call{{ID: "c1", Name: "place_order", Args: `{"product":"café"}`}}
	two := append(slices.Clone(one), llm.Call{ID: "c2", Name: "list_orders", Args: `{"from":"2026-01-01","n":12345678901234567890}`})
	usage := llm.Usage{Input: 11, Output: 7}
	for name, tc := range map[string]struct {
		needs  Scenario
		answer Answer
		stop   llm.Stop
		// text and args are what is wanted where it isn't what was said.
		text string
		args []string
	}{
		"text":            {answer: Answer{Pieces: []string{"Hello", ", ", "world"}, Stop: llm.StopEnd, Usage: usage}},
		"unicode":         {answer: Answer{Pieces: []string{"¿Café? ☕", " 🥐", " \"quoted\"\n", "中文"}, Stop: llm.StopEnd}},
		"no usage":        {answer: Answer{Pieces: []string{"Hi"}, Stop: llm.StopEnd}},
		"empty":           {answer: Answer{Stop: llm.StopEnd}},
		"one call":        {answer: Answer{Calls: one, Stop: llm.StopCalls, Usage: usage}},
		"parallel calls":  {answer: Answer{Calls: two, Stop: llm.StopCalls}},
		"text and call":   {answer: Answer{Pieces: []string{"One ", "moment."}, Calls: one, Stop: llm.StopCalls}},
		"object args":     {needs: ObjectArgs, answer: Answer{Calls: two, Object: true, Stop: llm.StopCalls}},
		"empty args":      {answer: Answer{Calls: []llm.Call{{ID: "c1", Name: "list_orders"}}, Stop: llm.StopCalls}, args: []string{""}},
		"broken args":     {needs: BrokenArgs, answer: Answer{Calls: []llm.Call{{ID: "c1", Name: "place_order", Args: `{"product": "caf`}}, Stop: llm.StopCalls}},
		"unknown stop":    {needs: UnknownStop, answer: Answer{Pieces: []string{"Hm"}, RawStop: "paused_for_tea"}, stop: llm.StopOther},
		"length":          {answer: Answer{Pieces: []string{"Once upon"}, Stop: llm.StopLength, Usage: usage}},
		"length in calls": {answer: Answer{Calls: one, Stop: llm.StopLength}},
		"filter":          {answer: Answer{Pieces: []string{"I "}, Stop: llm.StopFilter}},
		"refusal":         {needs: Refusal, answer: Answer{Refusal: "I can't.", Stop: llm.StopEnd}, stop: llm.StopFilter, text: "I can't."},
		"missing ids":     {needs: CallIDs, answer: Answer{Calls: []llm.Call{{Name: "a", Args: "{}"}, {Name: "b", Args: "{}"}}, Stop: llm.StopCalls}},
		"repeated ids":    {needs: CallIDs, answer: Answer{Calls: []llm.Call{{ID: "x", Name: "a", Args: "{}"}, {ID: "x", Name: "b", Args: "{}"}}, Stop: llm.StopCalls}},
		"opaque":          {needs: Opaque, answer: Answer{Calls: one, Stop: llm.StopCalls, Opaque: "thought-1"}},
	} {
		if tc.needs != "" && s.b.Lacks(tc.needs) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p := s.answering(t, tc.answer)
			var texts collector
			got, err := p.Generate(t.Context(), ask(), texts.onText(stream))
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(tc.answer.Pieces, "")
			if want := said + tc.text; got.Text != want {
				t.Errorf("text %q, want %q", got.Text, want)
			}
			if stream {
				texts.check(t, said)
			}
			want := tc.answer.Stop
			if tc.stop != "" {
				want = tc.stop
			}
			if got.Stop != want {
				t.Errorf("stop %q, want %q", got.Stop, want)
			}
			if got.Usage != tc.answer.Usage {
				t.Errorf("usage %+v, want %+v", got.Usage, tc.answer.Usage)
			}
			if got.From != p.Name()+"/"+p.Model() {
				t.Errorf("from %q", got.From)
			}
			checkCalls(t, got.Calls, tc.answer.Calls, tc.args)
			if tc.answer.Opaque != "" && !bytes.Contains(opaqueOf(got), []byte(tc.answer.Opaque)) {
				t.Errorf("the opaque field is lost: %+v", got)
			}
		})
	}
}

func opaqueOf(r llm.Response) []byte {
	all := slices.Clone(r.Opaque)
	for _, c := range r.Calls {
		all = append(all, c.Opaque...)
	}
	return all
}

// checkCalls compares names and arguments; ids must only be there, and differ.
func checkCalls(t *testing.T, got, want []llm.Call, args []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d calls, want %d: %+v", len(got), len(want), got)
	}
	ids := map[string]bool{}
	for i, c := range got {
		if c.ID == "" || ids[c.ID] {
			t.Errorf("call %d has the id %q", i, c.ID)
		}
		ids[c.ID] = true
		if c.Name != want[i].Name {
			t.Errorf("call %d is of %q, want %q", i, c.Name, want[i].Name)
		}
		if args != nil {
			if c.Args != args[i] && c.Args != "{}" {
				t.Errorf("call %d has %q, want none", i, c.Args)
			}
			continue
		}
		if compact(c.Args) != compact(want[i].Args) {
			t.Errorf("call %d has %q, want %q", i, c.Args, want[i].Args)
		}
	}
}

// compact takes the blanks out of JSON; other text stays.
func compact(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}
