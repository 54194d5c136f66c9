//go:build unix && !linux

package mcptool

const endsWithParent = false

func isGone(int) bool { return true }
