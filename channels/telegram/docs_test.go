package telegram_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/telegram"
)

func TestDocs_EveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/telegram.md")
	if err != nil {
		t.Fatal(err)
	}
	var described, keys []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		described = append(described, m[1])
	}
	for f := range reflect.TypeFor[telegram.Config]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		keys = append(keys, key)
	}
	slices.Sort(described)
	slices.Sort(keys)
	if !slices.Equal(described, keys) {
		t.Errorf("described %v, in Config %v", described, keys)
	}
}
