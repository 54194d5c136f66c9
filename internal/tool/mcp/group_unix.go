//go:build unix

package mcptool

import (
	"os/exec"
	"syscall"
)

// endGroup tells a process and its children to end. Those that are gone don't
// mind.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killGroup ends them.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
