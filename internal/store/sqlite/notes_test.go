package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestNotes_TakeTurnsAndStaySmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	n, err := openNotes(path)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 100_000)
	var most int64
	for range 100 {
		n.add(line)()
		var size int64
		for _, name := range notePaths(path) {
			fi, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			size += fi.Size()
		}
		most = max(most, size)
	}
	if most > 2*noteTurn+2*int64(len(line)) {
		t.Errorf("%d bytes at the most", most)
	}
	// One that is needed keeps its file from being emptied.
	keep := n.add([]byte("keep"))
	for range 100 {
		n.add(line)()
	}
	if left := reread(t, path); !left["keep"] {
		t.Error("a line that is needed was dropped")
	}
	keep()
	keep()
	for range 100 {
		n.add(line)()
	}
	if left := reread(t, path); left["keep"] {
		t.Error("a line that isn't needed any more is kept for ever")
	}
	if err := n.close(path); err != nil {
		t.Error(err)
	}
}

// reread is what a process that comes after a kill would find.
func reread(t *testing.T, path string) map[string]bool {
	t.Helper()
	n, err := openNotes(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, line := range n.left {
		out[string(line)] = true
	}
	if err := n.close(""); err != nil {
		t.Fatal(err)
	}
	return out
}
