package js

import (
	"context"
	"sync/atomic"
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
	var running atomic.Int64
	go polite(func() {
		defer close(done)
		thread := unix.Gettid()
		before := niceOf(t, thread)
		for ctx.Err() == nil { // it computes
			if niceOf(t, thread) == niceness && before < niceness && running.Load() == 1 {
				return
			}
		}
		t.Error("a call that goes on has the priority of all others")
	}, func() bool { return true }, func(delta int) { running.Add(int64(delta)) })
	<-done
	for running.Load() != 0 { // told right after the call
		if ctx.Err() != nil {
			t.Fatal("the end of a long call was not told")
		}
	}
}

func TestPolite_WaitingIsNotComputing(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	done := make(chan int)
	go polite(func() {
		<-asked
		<-asked // it was looked at twice, and stayed as it is
		done <- niceOf(t, unix.Gettid())
	}, func() bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		return false
	}, func(int) { t.Error("a call that waits was told of") })
	if nice := <-done; nice == niceness {
		t.Errorf("the thread of a call that waits has niceness %d", nice)
	}
}

func TestPolite_AShortCallGivesItsThreadBackAsItWas(t *testing.T) {
	t.Parallel()
	done := make(chan int)
	go func() {
		var thread int
		polite(func() { thread = unix.Gettid() }, func() bool { return true }, func(int) {})
		done <- niceOf(t, thread)
	}()
	if nice := <-done; nice == niceness {
		t.Errorf("the thread has niceness %d after a short call", nice)
	}
}
