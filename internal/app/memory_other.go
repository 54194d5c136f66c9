//go:build !linux

package app

// dropProgramPages is known for Linux only.
func dropProgramPages() {}
