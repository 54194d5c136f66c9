package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSubset(t *testing.T) {
	t.Parallel()
	const around = `{"type":"OBJECT","properties":{"a":%s}}`
	for name, tc := range map[string]struct{ in, want string }{
		"kept":            {`{"type":"string","description":"d","minLength":1,"maxLength":9,"pattern":"^a"}`, `{"type":"STRING","description":"d","minLength":1,"maxLength":9,"pattern":"^a"}`},
		"left out":        {`{"type":"string","$comment":"c","deprecated":true,"examples":["x"],"contentEncoding":"base64","format":"email"}`, `{"type":"STRING"}`},
		"known format":    {`{"type":"string","format":"date-time"}`, `{"type":"STRING","format":"date-time"}`},
		"bounds":          {`{"type":"integer","minimum":1,"maximum":5,"exclusiveMinimum":0,"multipleOf":1}`, `{"type":"INTEGER","minimum":1,"maximum":5}`},
		"list":            {`{"type":"array","uniqueItems":true,"minItems":1,"items":{"type":"boolean"}}`, `{"type":"ARRAY","minItems":1,"items":{"type":"BOOLEAN"}}`},
		"list of nothing": {`{"type":"array"}`, `{"type":"ARRAY","items":{"type":"STRING"}}`},
		"nullable":        {`{"type":["string","null"]}`, `{"type":"STRING","nullable":true}`},
		"two types":       {`{"type":["string","integer"],"description":"d"}`, `{"description":"d","anyOf":[{"type":"STRING"},{"type":"INTEGER"}]}`},
		"texts":           {`{"enum":["x","y"]}`, `{"type":"STRING","enum":["x","y"]}`},
		"constant":        {`{"const":"x"}`, `{"type":"STRING","enum":["x"]}`},
		"numbers":         {`{"type":"integer","enum":[1,2],"description":"How many."}`, `{"type":"INTEGER","description":"How many. One of: 1, 2."}`},
		"bare numbers":    {`{"enum":[1,2]}`, `{"type":"NUMBER","description":"One of: 1, 2."}`},
		"oneOf":           {`{"oneOf":[{"type":"string"},{"type":"number"}]}`, `{"anyOf":[{"type":"STRING"},{"type":"NUMBER"}]}`},
		"anyOf null":      {`{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}`, `{"type":"STRING","maxLength":3,"nullable":true}`},
		"allOf":           {`{"allOf":[{"properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"string"}},"required":["y","z"]}]}`, `{"type":"OBJECT","properties":{"x":{"type":"STRING"},"y":{"type":"STRING"}},"required":["x","y"]}`},
		"reference":       {`{"$ref":"#/$defs/in~1out"}`, `{"type":"STRING","enum":["q"]}`},
		"elsewhere":       {`{"$ref":"https://example.com/x"}`, `{"type":"STRING"}`},
		"anything":        {`true`, `{"type":"STRING"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := fmt.Sprintf(`{"type":"object","additionalProperties":false,"$schema":"s","$defs":{"in/out":{"enum":["q"]}},"properties":{"a":%s}}`, tc.in)
			var got, want any
			if err := json.Unmarshal(subsetOf(json.RawMessage(in)), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(fmt.Sprintf(around, tc.want)), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubset_NoArguments(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "null", "{}", `{"type":"object"}`, `{"type":"object","properties":{}}`} {
		if got := subsetOf(json.RawMessage(in)); got != nil {
			t.Errorf("%q becomes %s; an object without properties is refused", in, got)
		}
	}
}

func TestSubset_EndsOnSchemasThatReferToThemselves(t *testing.T) {
	t.Parallel()
	one := `{"properties":{"a":{"$ref":"#"}}}`
	wide := `{"$defs":{"x":{"properties":{` + strings.Repeat(`"p":{"$ref":"#/$defs/x"},`, 3) + `"q":{"$ref":"#/$defs/x"},"r":{"allOf":[{"$ref":"#/$defs/x"}]}}}},"properties":{"a":{"$ref":"#/$defs/x"}}}`
	for _, in := range []string{one, wide, `{"allOf":[{"$ref":"#"},{"properties":{"a":{"type":"string"}}}]}`} {
		if got := subsetOf(json.RawMessage(in)); !json.Valid(got) || len(got) > 1<<20 {
			t.Errorf("%d bytes", len(got))
		}
	}
}
