package script_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestExtract_Items(t *testing.T) {
	t.Parallel()
	p := load(t, `
extract:
  items: {words: {coffee: [coffee, coffees, cafe], cake: [cake, chocolate cake, cakes], bread: [loaf of bread]}, numbers: [en, es], key: p, quantity: q, default: 1}
rules: [{when: {has: items}, say: "{items}"}, {say: none}]`)
	for text, want := range map[string]string{
		"coffee":                       "coffee 1",
		"a coffee":                     "coffee 1",
		"2x coffee":                    "coffee 2",
		"coffee x2":                    "coffee 2",
		"coffee x 2":                   "coffee 2",
		"coffee: 2; cake: 3":           "coffee 2, cake 3",
		"coffee 2, cake 3":             "coffee 2, cake 3",
		"coffee for 2 people":          "coffee 1",
		"2 large coffees 3 cakes":      "coffee 2, cake 3",
		"2 coffees, 1 cake, 1 coffee":  "coffee 3, cake 1",
		"a dozen cakes":                "cake 12",
		"2 dozen cakes":                "cake 24",
		"two dozen cakes":              "cake 24",
		"half a dozen cakes":           "cake 6",
		"a half dozen cakes":           "cake 6",
		"media docena de cafe":         "coffee 6",
		"un par de cafe":               "coffee 2",
		"a couple of coffees":          "coffee 2",
		"twenty-five coffees":          "coffee 25",
		"treinta y un cafe y dos cake": "coffee 31, cake 2",
		"one hundred and five coffees": "coffee 105",
		"doscientos tres cafe":         "coffee 203",
		"veintidós cafe":               "coffee 22",
		"5 chocolate cakes":            "cake 5",
		"1 loaf of bread":              "bread 1",
		"a loaf, of bread":             "none",
		"1,000 coffees":                "coffee 1000",
		"2.5 coffees":                  "coffee 2.5",
		"2,5 cafe":                     "coffee 2.5",
		"007 coffees":                  "coffee 7",
		"-2 coffees":                   "coffee -2",
		"0 coffees":                    "coffee 0",
		"99999999999999999999 coffees": "coffee 99999999999999999999",
		"2 coffees + 2 cakes & coffee": "coffee 3, cake 2",
		"2 coffees\n3 cakes":           "coffee 2, cake 3",
		"coffeeshop":                   "none",
		"5":                            "none",
		"":                             "none",
	} {
		got := answer(t, p, says(text))
		var items []struct {
			P string
			Q json.Number
		}
		if json.Unmarshal([]byte(got), &items) == nil {
			var parts []string
			for _, i := range items {
				parts = append(parts, i.P+" "+i.Q.String())
			}
			got = strings.Join(parts, ", ")
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestExtract_Others(t *testing.T) {
	t.Parallel()
	p := load(t, `
extract:
  size: {words: {large: [large, grande], small: [small, pequeño]}}
  amount: {numbers: [en, es]}
  name: {pattern: "(?:my name is|me llamo) (\\w[\\p{L}-]*)"}
  word: {pattern: "h[aeiou]t"}
  id: {pattern: "#(\\S+)", numeric: true}
  kept: {words: {large: large}, from: turn}
  bare: {words: {a: [alpha], b: [beta]}, key: letter}
rules: [{say: "{size?}|{amount?}|{name?}|{word?}|{id?}|{kept?}|{bare?}"}]`)
	for text, want := range map[string]string{
		"un GRANDE, otro pequeno":      "large||||||",
		"pequen\u0303o":                "small||||||",
		"change the 2 to three":        "|3|||||",
		"make it a bit more":           "||||||",
		"a dozen":                      "|12|||||",
		"My name is José-María, thank": "||José-María||||",
		"Me llamo Ñuño":                "||Ñuño||||",
		"a Hát":                        "|||Hát|||",
		"#12":                          "|12|||12||",
		"#abc":                         "||||||",
		"beta alpha":                   `||||||[{"letter":"b"},{"letter":"a"}]`,
	} {
		if got := answer(t, p, says(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := answer(t, p, says("large"), calls("t", "{}"), replies("t", "no")); got != "|||||large|" {
		t.Errorf("from: turn reads %q", got)
	}
}
