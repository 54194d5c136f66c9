package whatsappweb_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb"
)

// Every key is in the document with its default, every state that there is
// too, and the document has no other.
func TestDocs_HaveEveryKeyAndState(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/whatsapp-web.md")
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	v := reflect.ValueOf(whatsappweb.Defaults())
	for f, val := range v.Fields() {
		want[f.Tag.Get("yaml")] = fmt.Sprintf("`%v`", val.Interface())
	}
	for _, s := range channels.LinkStates() {
		if s != channels.LinkUp && s != channels.LinkRefused { // there are no credentials
			want[string(s)] = "state"
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\| ([^|]+) \\|(?: .+ \\|)?$").FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = m[2]
		if m[2][0] != '`' || want[m[1]] == "state" {
			got[m[1]] = "state"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("keys and states of the program (-) and of the document (+):\n%s", d)
	}
}
