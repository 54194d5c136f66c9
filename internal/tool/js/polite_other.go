//go:build !linux

package js

func currentThread() int { return 0 }

// lowerPriority is known for Linux only.
func lowerPriority(int) bool { return false }
