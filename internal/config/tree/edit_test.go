package tree

import (
	"testing"
)

func parsed(t *testing.T, text string) *Node {
	t.Helper()
	rep := &Report{}
	n := Parse(rep, "x.yaml", []byte(text))
	if err := rep.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNode_Equal(t *testing.T) {
	t.Parallel()
	const a = "a: {b: 1, c: [x, y]}\nd: ~\n"
	for text, want := range map[string]bool{
		a: true, "d:\na:\n  c:\n    - x\n    - \"y\"\n  b: 1\n": true, // order and style don't count
		"a: {b: 1, c: [y, x]}\nd: ~\n":     false,
		"a: {b: 1, c: [x]}\nd: ~\n":        false,
		"a: {b: \"1\", c: [x, y]}\nd: ~\n": false,
		"a: {b: 1, c: [x, y]}\nd: {}\n":    false,
		"a: {b: 1, c: [x, y]}\n":           false,
		"a: {b: 1, e: [x, y]}\nd: ~\n":     false,
		"- a\n":                            false,
	} {
		if got := parsed(t, a).Equal(parsed(t, text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	var none *Node
	if !none.Equal(nil) || none.Equal(parsed(t, a)) {
		t.Error("of nothing")
	}
}

// A value that is put somewhere leaves the tree it is put into alone, makes the
// sections above it, and replaces a secret's other form.
func TestNode_Put(t *testing.T) {
	t.Parallel()
	leaf := func(s string) *Node { return parsed(t, s) }
	for _, c := range []struct {
		in   string
		path []string
		want string
	}{
		{"a: {b: 1}\n", []string{"a", "b"}, "a: {b: x}\n"},
		{"a: {b: 1}\n", []string{"a", "c"}, "a: {b: 1, c: x}\n"},
		{"a: {b: 1}\n", []string{"d", "e"}, "a: {b: 1}\nd: {e: x}\n"},
		{"a: {key_file: f, b: 1}\n", []string{"a", "key"}, "a: {b: 1, key: x}\n"},
		{"a: {key: k}\n", []string{"a", "key_file"}, "a: {key_file: x}\n"},
		{"a: text\n", []string{"a", "b"}, "a: text\n"}, // reported when it is decoded
		{"a:\n", []string{"a", "b"}, "a: {b: x}\n"},
	} {
		in := parsed(t, c.in)
		if got := in.Put(c.path, leaf("x")); !got.Equal(parsed(t, c.want)) {
			t.Errorf("%q: not %q", c.in, c.want)
		}
		if !in.Equal(parsed(t, c.in)) {
			t.Errorf("%q was changed", c.in)
		}
	}
	var none *Node
	if !none.Put([]string{"a"}, leaf("x")).Equal(parsed(t, "a: x\n")) {
		t.Error("into nothing")
	}
}
