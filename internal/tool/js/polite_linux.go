package js

import "golang.org/x/sys/unix"

// niceness of a long call: a tenth of what an ordinary thread gets.
const niceness = 10

func currentThread() int { return unix.Gettid() }

// lowerPriority is about a single thread on Linux.
func lowerPriority(thread int) bool {
	return unix.Setpriority(unix.PRIO_PROCESS, thread, niceness) == nil
}
