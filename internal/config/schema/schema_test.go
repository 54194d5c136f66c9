package schema

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type sample struct {
	Name   string         `yaml:"name" config:"required"`
	Wait   time.Duration  `yaml:"wait"`
	Key    secret.String  `yaml:"key" config:"required"`
	Mode   string         `yaml:"mode" config:"oneof=a|b"`
	Kind   string         `yaml:"kind"`
	Own    own            `yaml:"own"`
	Hidden int            `yaml:"hidden"`
	Sub    map[string]sub `yaml:"sub"`
}

type sub struct {
	On   bool `yaml:"on"`
	List []int
}

type own struct{ N int }

func (own) Schema(Maker, string) Object { return Object{"const": 1} }

func (own) Written() any { return "one" }

func TestMaker_Object(t *testing.T) {
	t.Parallel()
	m := Maker{
		Describe: func(path string) string { return map[string]string{"s.name": "Its name."}[path] },
		Words:    func(path string) []string { return map[string][]string{"s.kind": {"x"}}[path] },
		Leave:    func(path string) bool { return path == "s.hidden" },
		More: func(path string) []any {
			return map[string][]any{"s": {Object{"not": Object{"required": []any{"a"}}}}}[path]
		},
	}
	got, err := json.MarshalIndent(m.Object(reflect.ValueOf(sample{Wait: 2 * time.Minute, Mode: "b", Own: own{1}}), "s"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/object.golden"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
