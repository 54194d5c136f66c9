package docs

import (
	"io/fs"
	"os"
	"testing"
)

// A page with a table of keys has to be embedded, or editors show nothing of
// them.
func TestKeys_OfEveryPage(t *testing.T) {
	t.Parallel()
	pages, err := fs.Glob(os.DirFS("."), "*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("pages %q, %v", pages, err)
	}
	embedded := 0
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Open(name); err == nil {
			embedded++
			if !row.Match(text) {
				t.Errorf("%s has no table of keys and needn't be embedded", name)
			}
			continue
		}
		// Its tables are of interfaces, which aren't keys.
		if row.Match(text) && name != "models.md" {
			t.Errorf("%s has a table of keys and isn't embedded", name)
		}
	}
	if keys := Keys(); len(keys) < 100 || keys["channels.telegram.token"] == "" || keys["server.listen"] == "" || embedded < 6 {
		t.Errorf("%d keys of %d pages", len(keys), embedded)
	}
}
