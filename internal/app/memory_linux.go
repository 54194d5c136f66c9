package app

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropProgramPages unmaps the pages of the executable that this process has
// read. They stay in the kernel's cache and are mapped again where they are
// needed: a start touches far more of a program than its rest does, and all of
// it would count as this process's memory for ever. Where it can't be done
// nothing is lost.
func dropProgramPages() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was only read
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		f := strings.Fields(lines.Text())
		// Only what can't have been changed: private and not writable.
		if len(f) < 6 || f[5] != exe || (f[1] != "r-xp" && f[1] != "r--p") {
			continue
		}
		var from, to uintptr
		if _, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); err == nil {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
