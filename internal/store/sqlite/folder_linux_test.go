package sqlite

import (
	"strings"
	"testing"
)

// /proc is a folder where nobody, not even root, may make files.
func TestOpen_FolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for range 2 {
		_, err := Open(t.Context(), "/proc/parley.db", Options{})
		if err == nil || !strings.Contains(err.Error(), "is the folder writable?") {
			t.Errorf("error %v", err)
		}
	}
}
