package mcptool

import (
	"fmt"
	"os"
	"strings"
)

const endsWithParent = true

// isGone tells whether a process has ended; nobody may have asked for its exit
// code yet.
func isGone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
