package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonical_C5_SameArgumentsSameSpelling(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"keys sorted", `{"b":1,"a":{"d":2,"c":3}}`, `{"a":{"c":3,"d":2},"b":1}`},
		{"white space", " { \"a\" : [ 1 , 2 ] } ", `{"a":[1,2]}`},
		{"1.0", `1.0`, `1`},
		{"1e0", `1e0`, `1`},
		{"10e-1", `10E-1`, `1`},
		{"negative zero", `-0.0`, `0`},
		{"zero with an exponent", `0e999`, `0`},
		{"fraction", `0.50`, `0.5`},
		{"small", `1.5e-3`, `0.0015`},
		{"large", `1.5e+3`, `1500`},
		{"beyond 2^53", `9007199254740993`, `9007199254740993`},
		{"beyond 2^53 as decimal", `9007199254740993.0`, `9007199254740993`},
		{"long decimal", `-0.1234567890123456789`, `-0.1234567890123456789`},
		{"escapes", `"\u0041\/\u00e9<&>"`, `"A/é<&>"`},
		{"array order kept", `[2,1]`, `[2,1]`},
		{"null true false", `[null,true,false]`, `[null,true,false]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Canonical(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("Canonical(%s) = %s, want %s", c.in, got, c.want)
			}
		})
	}
}

func TestCanonical_Refuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":         ``,
		"trailing data":   `{} {}`,
		"trailing comma":  `[1,]`,
		"duplicate key":   `{"a":1,"a":2}`,
		"escaped twin":    `{"a":1,"\u0061":2}`,
		"invalid UTF-8":   "\"\xff\"",
		"huge exponent":   `1e401`,
		"endless digits":  strings.Repeat("9", 401),
		"exponent no int": `1e99999999999999999999`,
		"too deep":        strings.Repeat("[", 66) + strings.Repeat("]", 66),
		"very deep":       strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000),
	} {
		if got, err := Canonical(json.RawMessage(in)); err == nil {
			t.Errorf("%s: got %.40s, want an error", name, got)
		}
	}
}

func TestArgsHash_C5(t *testing.T) {
	t.Parallel()
	same := []string{`{"a":1,"b":[1.0]}`, `{"b":[1e0],"a":1.00}`, " {\"b\": [1],\n\"a\": 1}"}
	for _, s := range same[1:] {
		if ArgsHash(json.RawMessage(s)) != ArgsHash(json.RawMessage(same[0])) {
			t.Errorf("%s and %s hash differently", s, same[0])
		}
	}
	for _, s := range []string{`{"a":1,"b":["1"]}`, `{"a":1,"b":[1,null]}`, `{"a":9007199254740993}`, `not json`, ``} {
		if ArgsHash(json.RawMessage(s)) == ArgsHash(json.RawMessage(same[0])) {
			t.Errorf("%s hashes like %s", s, same[0])
		}
	}
	if ArgsHash(json.RawMessage(`9007199254740993`)) == ArgsHash(json.RawMessage(`9007199254740992`)) {
		t.Error("neighbours beyond 2^53 hash the same")
	}
}

func TestSameNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true},
		{"1e3", "1000", true},
		{"-1", "1", false},
		{"9007199254740993", "9007199254740992", false},
		{"0", "-0", true},
		{"0.1", "0.10000000000000001", false},
	} {
		if got := SameNumber(c.a, c.b); got != c.want {
			t.Errorf("SameNumber(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{}`, `{"b":1.0,"a":[null,true,"x"]}`, `1e400`, `"\ud800"`, `[[[[]]]]`, `-0`, `{"a":1,"a":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one, err := Canonical(json.RawMessage(s))
		if err != nil {
			return
		}
		if !json.Valid(one) {
			t.Fatalf("canonical form of %q is not JSON: %s", s, one)
		}
		two, err := Canonical(one)
		if err != nil {
			t.Fatalf("canonical form %s is refused: %v", one, err)
		}
		if diff := cmp.Diff(string(one), string(two)); diff != "" {
			t.Fatal(diff)
		}
		if ArgsHash(json.RawMessage(s)) != ArgsHash(one) {
			t.Fatal("the hash changed with the spelling")
		}
	})
}
