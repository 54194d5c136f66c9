//go:build !unix

package mcptool

import "os/exec"

// isolate does nothing: without process groups a server sees the end of its
// input.
func isolate(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
