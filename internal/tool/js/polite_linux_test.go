package js

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// niceOf is a thread's niceness; the system call gives 20 less it.
func niceOf(t *testing.T, thread int) int {
	t.Helper()
	p, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil {
		t.Errorf("priority of thread: %v", err)
	}
	return 20 - p
}

func TestPolite_G2_ALongCallStandsBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan struct{})
	go polite(func() {
		defer close(done)
		thread := unix.Gettid()
		before := niceOf(t, thread)
		for ctx.Err() == nil { // it computes
			if niceOf(t, thread) == niceness && before < niceness {
				return
			}
		}
		t.Error("a call that goes on has the priority of all others")
	})
	<-done
}

func TestPolite_AShortCallGivesItsThreadBackAsItWas(t *testing.T) {
	t.Parallel()
	done := make(chan int)
	go func() {
		var thread int
		polite(func() { thread = unix.Gettid() })
		done <- niceOf(t, thread)
	}()
	if nice := <-done; nice == niceness {
		t.Errorf("the thread has niceness %d after a short call", nice)
	}
}
