//go:build unix

package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/audit"
)

// Who looks at the audit wants its end, in the order of what happened.
func TestNewest_LastEventsOldestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 5 {
		if err := s.Late(t.Context(), "web:a", audit.Event{Type: audit.ToolResult, Tool: fmt.Sprint("tool", i)}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.Newest(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]int64{4, 5}, ids); diff != "" {
		t.Fatal(diff)
	}
}
