package tool

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestLint_E3(t *testing.T) {
	t.Parallel()
	good := json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","minimum":1,"maximum":9},"s":{"type":"string","maxLength":9}}}`)
	desc := "Says the weather. Not for other cities."
	cases := []struct {
		name  string
		tools []Tool
		rules []string
	}{
		{"clean", []Tool{{Name: "weather", Description: desc, Schema: good, Effect: Read}}, nil},
		{"no description", []Tool{{Name: "weather", Schema: good, Effect: Read}}, []string{RuleNoDescription}},
		{"when not", []Tool{{Name: "weather", Description: "Says the weather.", Effect: Read}}, []string{RuleNoWhenNot}},
		{"overlap", []Tool{
			{Name: "a", Description: "Finds an order of this customer. Not for other customers.", Effect: Read},
			{Name: "b", Description: "Finds one order of this customer. Not for other customers.", Effect: Read},
		}, []string{RuleOverlap}},
		{"open string", []Tool{{Name: "w", Description: desc, Effect: Read, Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"list":{"type":"array","items":{"type":"string"}}}}`)}}, []string{RuleOpenString}},
		{"half open number", []Tool{{Name: "w", Description: desc, Effect: Read, Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"n":{"type":["integer","null"],"minimum":1}}}`)}}, []string{RuleOpenNumber}},
		{"open object", []Tool{{Name: "w", Description: desc, Effect: Read, Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}, []string{RuleOpenObject}},
		{"prose", []Tool{{Name: "w", Description: desc + " At most 50 of them.", Schema: good, Effect: Read}}, []string{RuleProseLimit}},
		{"create alone", []Tool{{Name: "place_order", Description: desc, Confirm: true}}, []string{RuleLonelyCreate}},
		{"create in company", []Tool{
			{Name: "place_order", Description: "Places one. Not twice.", Confirm: true},
			{Name: "my_orders", Description: "Lists what was bought, not what is planned.", Effect: Read},
			{Name: "change_order", Description: "Alters an open purchase only.", Confirm: true},
			{Name: "cancel_order", Description: "Withdraws. Never after delivery.", Confirm: true},
		}, nil},
		{"unsafe", []Tool{{Name: "send", Description: desc}}, []string{RuleUnsafeNoAsking}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var rules []string
			findings := Lint(c.tools)
			for _, f := range findings {
				rules = append(rules, f.Rule)
			}
			if !slices.Equal(rules, c.rules) {
				t.Errorf("findings %+v, want %v", findings, c.rules)
			}
		})
	}
}
