package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ResultsFor gives exactly one result for each call, in the order of the calls:
// an API refuses a call without one, so what is missing is said to be, and what
// belongs to no call is left out. Ids that repeat are matched in order.
func ResultsFor(calls []Call, results []Result) []Result {
	out := make([]Result, len(calls))
	used := make([]bool, len(results))
	for k, c := range calls {
		out[k] = Result{CallID: c.ID, Name: c.Name, Content: `{"error":"no_result"}`, Failed: true}
		take := func(n int) bool {
			if n >= len(results) || used[n] || results[n].CallID != c.ID {
				return false
			}
			used[n], out[k] = true, results[n]
			return true
		}
		for n := -1; n < len(results); n++ {
			// Its own place first, which is nearly always the right one.
			if n < 0 && take(k) || n >= 0 && take(n) {
				break
			}
		}
	}
	return out
}

// ArgsObject makes what a model once wrote fit to be sent again as an object:
// APIs refuse the whole request on anything else, which a truncated answer
// leaves behind.
func ArgsObject(args string) json.RawMessage {
	var object map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(args), &object); {
	case strings.TrimSpace(args) == "" || err == nil && object == nil:
		return json.RawMessage("{}")
	case err == nil:
		return json.RawMessage(args)
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid_json": args}) // strings always marshal
	return wrapped
}

// ArgsText is what an API gave as a call's arguments: the JSON of an object, or
// the text of a string, as some servers give it; "" where there is nothing.
func ArgsText(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	default:
		return string(raw)
	}
}

// ObjectSchema is a card's schema as APIs take it: an object that names its
// properties, even where there are none.
func ObjectSchema(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(schema) == 0 || json.Unmarshal(schema, &fields) != nil || len(fields) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if _, ok := fields["properties"]; ok || string(fields["type"]) != `"object"` {
		return schema
	}
	trimmed := strings.TrimSpace(string(schema))
	return json.RawMessage(trimmed[:len(trimmed)-1] + `,"properties":{}}`)
}

// FillIDs gives an id to each call that has none, or one that is taken.
func FillIDs(calls []Call) {
	taken := map[string]bool{}
	for i := range calls {
		for n := i; calls[i].ID == "" || taken[calls[i].ID]; n++ {
			calls[i].ID = fmt.Sprintf("made-up-%d", n)
		}
		taken[calls[i].ID] = true
	}
}
