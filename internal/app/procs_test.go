package app

import (
	"runtime"
	"testing"
)

// Threads are lent while scripts compute, and taken back.
func TestSpareProcs_G2_OnlyWhileScriptsCompute(t *testing.T) { //nolint:paralleltest // it looks at a setting of the process
	s := &spareProcs{base: runtime.GOMAXPROCS(0)}
	for range maxSpare + 3 {
		s.long(1)
	}
	if got := runtime.GOMAXPROCS(0); got != s.base+maxSpare {
		t.Errorf("%d threads while many scripts compute, want %d", got, s.base+maxSpare)
	}
	for range maxSpare + 3 {
		s.long(-1)
	}
	if got := runtime.GOMAXPROCS(0); got != s.base {
		t.Errorf("%d threads afterwards, want %d", got, s.base)
	}
}
