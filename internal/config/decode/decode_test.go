package decode

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/secret"
)

type sample struct {
	Name    string            `yaml:"name" config:"required"`
	Text    string            `yaml:"text" config:"text"`
	Args    []string          `yaml:"args" config:"lines"`
	Mode    string            `yaml:"mode" config:"oneof=a|b"`
	Wait    time.Duration     `yaml:"wait"`
	Count   *int              `yaml:"count"`
	Share   float64           `yaml:"share"`
	On      bool              `yaml:"on"`
	Raw     json.RawMessage   `yaml:"raw"`
	Key     secret.String     `yaml:"key"`
	Labels  map[string]string `yaml:"labels"`
	Special shout             `yaml:"special"`
	Base    `yaml:",inline"`
}

type Base struct {
	Low uint8 `yaml:"low"`
}

// shout has a YAML form of its own.
type shout string

func (s *shout) FromNode(d *Decoder, n *tree.Node, path string) {
	text, _ := d.Text(n, path)
	*s = shout(text + "!")
}

func decoded(t *testing.T, text string) (sample, string) {
	t.Helper()
	rep := &tree.Report{}
	n := tree.Parse(rep, "x.yaml", []byte(text))
	d := Decoder{Rep: rep, Env: func(name string) (string, bool) { return "two\nlines", name == "MANY" }}
	var got sample
	d.Into(n, &got, "s")
	if err := rep.Err(); err != nil {
		return got, err.Error()
	}
	return got, ""
}

func TestDecoder_EveryKind(t *testing.T) {
	t.Parallel()
	got, wrong := decoded(t, `
name: Ana
text: "${MANY} stays"
args: ["${MANY}"]
mode: b
wait: 1m30s
count: 3
share: 0.5
on: true
raw: {z: 1, a: [0x1f, ~]}
key: hunter2
labels: {x: y}
special: hey
low: 255
`)
	if wrong != "" {
		t.Fatal(wrong)
	}
	three := 3
	want := sample{
		Name: "Ana", Text: "${MANY} stays", Args: []string{"two\nlines"}, Mode: "b", Wait: 90 * time.Second, Count: &three, Share: 0.5, On: true,
		Raw: json.RawMessage(`{"z":1,"a":[31,null]}`), Key: secret.New("hunter2"), Labels: map[string]string{"x": "y"}, Special: "hey!", Base: Base{255},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b secret.String) bool { return a.Reveal() == b.Reveal() })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDecoder_TellsAllOfIt(t *testing.T) {
	t.Parallel()
	_, wrong := decoded(t, `
nam: Ana
mode: c
wait: 5
low: 256
labels: {x: "${MANY}", y: {a: b}}
key: a
key_file: b
share: .nan
`)
	const want = `x.yaml:2:1: unknown key "nam" in s; did you mean "name"? (allowed: args, count, key, key_file, labels, low, mode, name, on, raw, share, special, text, wait) [P1101]
x.yaml:2:1: s.name is missing [P1103]
x.yaml:3:7: s.mode: "c" is not allowed (allowed: a, b) [P1104]
x.yaml:4:7: s.wait: "5" is not a duration such as 30s, 2m or 24h [P1102]
x.yaml:5:6: s.low: "256" is not a whole number from 0 [P1102]
x.yaml:6:13: s.labels.x must be one line: it holds a line break or another control character [P1102]
x.yaml:6:27: s.labels.y must be a single value, not a mapping [P1102]
x.yaml:8:1: both s.key and key_file are given; keep one [P1105]
x.yaml:9:8: s.share: ".nan" is not a number [P1102]`
	if d := cmp.Diff(want, wrong); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
