package channeltest

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
)

// Documented demands that the table in a document, whose first columns are key,
// kind and default, has every key of a channel's configuration and no other.
// defaults is the configuration with nothing set.
func Documented(t *testing.T, file string, defaults any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	describe(want, reflect.ValueOf(defaults), "")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([^|]+) \\| (–|`[^`|]+`) \\| .+ \\|$").FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = documented(m[2] == "secret", m[3])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("keys of the configuration (-) and of %s (+):\n%s", file, d)
	}
}

func documented(isSecret bool, def string) string {
	return fmt.Sprintf("secret: %v, default: %s", isSecret, def)
}

func describe(into map[string]string, v reflect.Value, prefix string) {
	for f, val := range v.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		_, isSecret := reflect.TypeAssert[secret.String](val)
		if val.Kind() == reflect.Pointer && !val.IsNil() {
			val = val.Elem()
		}
		def := "–"
		switch {
		case key == "-":
			continue
		case isSecret:
		case val.Kind() == reflect.Struct:
			describe(into, val, prefix+key+".")
			continue
		case val.Kind() == reflect.Bool || !val.IsZero():
			def = fmt.Sprintf("`%v`", val.Interface())
		}
		into[prefix+key] = documented(isSecret, def)
	}
}
