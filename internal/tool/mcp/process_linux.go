package mcptool

import (
	"os/exec"
	"syscall"
)

// isolate gives the process a group of its own, and ends it when parley is
// killed: then nobody is left to do it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
