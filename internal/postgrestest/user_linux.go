package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// PostgreSQL refuses to be run by root; whom root runs it as.
const unprivileged = "nobody"

func nobody() (uid, gid int, err error) {
	u, err := user.Lookup(unprivileged)
	if err != nil {
		return 0, 0, fmt.Errorf("PostgreSQL can't be run by root: %w", err)
	}
	uid, err = strconv.Atoi(u.Uid)
	if err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

func (s *Server) giveAway(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := nobody()
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

func (s *Server) runAs(cmd *exec.Cmd) {
	if os.Getuid() != 0 {
		return
	}
	if uid, gid, err := nobody(); err == nil { // giveAway has said so
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}

func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
}
