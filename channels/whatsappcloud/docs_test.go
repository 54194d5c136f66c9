package whatsappcloud_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/internal/secret"
)

// Every key is in the document, with its kind where it is a secret and its
// default, and the document has no other.
func TestDocs_HaveEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/whatsapp-cloud.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	describe(want, reflect.ValueOf(whatsappcloud.Defaults()), "")
	got := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([^|]+) \\| ([^|]+) \\| .+ \\|$").FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = fmt.Sprintf("secret: %v, default: %s", m[2] == "secret", m[3])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("keys of the configuration (-) and of the document (+):\n%s", d)
	}
}

func describe(into map[string]string, v reflect.Value, prefix string) {
	for f, val := range v.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		_, isSecret := reflect.TypeAssert[secret.String](val)
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
		into[prefix+key] = fmt.Sprintf("secret: %v, default: %s", isSecret, def)
	}
}
