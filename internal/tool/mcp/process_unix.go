//go:build unix && !linux

package mcptool

import (
	"os/exec"
	"syscall"
)

// isolate gives the process a group of its own. When parley is killed, servers
// see the end of their input.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
