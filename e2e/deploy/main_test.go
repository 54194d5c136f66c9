//go:build linux

package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// envDeny makes the test's binary the one that denies and then becomes what
// the variable names.
const envDeny = "PARLEY_DEPLOY_TEST_DENY"

func TestMain(m *testing.M) {
	if bin := os.Getenv(envDeny); bin != "" {
		fmt.Fprintln(os.Stderr, becomeDenied(bin))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// denyWriteExecute has cmd run without the right to execute memory that it
// wrote, as systemd does it: by a seccomp filter, which any Linux has.
func denyWriteExecute(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, envDeny+"="+cmd.Path)
	cmd.Path = "/proc/self/exe"
}

func becomeDenied(bin string) error {
	if err := os.Unsetenv(envDeny); err != nil {
		return err
	}
	// A filter is a thread's, until that thread becomes another program.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	filter := writeExecuteFilter()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("denying memory that is written and executed: %w", err)
	}
	// The proof that it is denied.
	_, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("memory to write and execute: %w, want a refusal", err)
	}
	return fmt.Errorf("becoming %s: %w", bin, syscall.Exec(bin, os.Args, os.Environ()))
}

// writeExecuteFilter refuses mmap of memory to be written and executed, and
// every mprotect that makes memory executable.
func writeExecuteFilter() []unix.SockFilter {
	const (
		nr   = 0        // of struct seccomp_data
		prot = 16 + 2*8 // its third argument, of which the low half is enough
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		and  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret  = unix.BPF_RET | unix.BPF_K
		both = unix.PROT_WRITE | unix.PROT_EXEC
	)
	return []unix.SockFilter{
		{Code: load, K: nr},
		{Code: jeq, K: unix.SYS_MMAP, Jt: 3},
		{Code: jeq, K: unix.SYS_MPROTECT, Jt: 5},
		{Code: jeq, K: unix.SYS_PKEY_MPROTECT, Jt: 4},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: load, K: prot}, // mmap
		{Code: and, K: both},
		{Code: jeq, K: both, Jt: 4, Jf: 3},
		{Code: load, K: prot}, // mprotect
		{Code: and, K: unix.PROT_EXEC},
		{Code: jeq, K: unix.PROT_EXEC, Jt: 1},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
}
