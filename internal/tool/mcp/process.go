package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// patience is how long a process may take to go after its input was
	// closed, and once more after it was told to.
	patience = 2 * time.Second
	// writeTimeout is how long a process may leave its input unread.
	writeTimeout = 10 * time.Second
)

// process is a server that parley started. It is an io.ReadWriteCloser over the
// process's output and input.
type process struct {
	cmd  *exec.Cmd
	in   *os.File // what it reads
	out  *os.File // what it writes
	said *tail    // on its standard error
	done chan struct{}
	once sync.Once
}

// spawn starts the server's command. The process leads a group of its own, which
// is killed with it: what a launcher such as npx starts doesn't stay behind.
func spawn(s Server) (*process, error) {
	cmd := exec.CommandContext(context.Background(), s.Command[0], s.Command[1:]...) // #nosec G204 -- the operator's command
	cmd.Dir = s.Dir
	cmd.Env = environment(s)
	cmd.WaitDelay = patience // for what holds standard error beyond the process's end
	isolate(cmd)
	p := &process{cmd: cmd, said: &tail{}, done: make(chan struct{})}
	cmd.Stderr = p.said
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting: %w", err), childIn.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout, p.in, p.out = childIn, childOut, in, out
	err = p.start()
	// The child has its own by now, or there is none.
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("starting %s: %w", s.Command[0], err)
	}
	return p, nil
}

// start starts the process and waits for its end, both on one thread that does
// nothing else: where the system ends children with their parent, "parent" is
// the thread that started them (Linux: PR_SET_PDEATHSIG), and Go's threads come
// and go.
func (p *process) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait() // how it ended is in ProcessState
		killGroup(p.cmd)
		close(p.done)
	}()
	return <-started
}

func (p *process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write gives a message to the process, whole or not at all: half a line would
// spoil the next one, so that a write that fails ends the process.
func (p *process) Write(b []byte) (int, error) {
	_ = p.in.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every system has it
	n, err := p.in.Write(b)
	if err != nil {
		p.signal(killGroup)
		return n, fmt.Errorf("the server doesn't read its input: %w", err)
	}
	return n, nil
}

// Close ends the process as the protocol wants it: its input is closed, then it
// is told to end, then it is killed. It is back within two patiences.
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.in.Close()
		for _, next := range []func(*exec.Cmd){endGroup, killGroup} {
			timer := time.NewTimer(patience)
			select {
			case <-p.done:
			case <-timer.C:
				p.signal(next)
			}
			timer.Stop()
		}
		_ = p.out.Close()
	})
	return nil
}

// signal is for a process that still runs: the number of one that has ended
// may be another's.
func (p *process) signal(send func(*exec.Cmd)) {
	select {
	case <-p.done:
	default:
		send(p.cmd)
	}
}

// how tells how the process ended; "" while it runs.
func (p *process) how() string {
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

// environment is what programs need to run at all, and what the operator gives
// this one. Parley's own environment holds the credentials of everything else.
func environment(s Server) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
		"SYSTEMROOT", "SYSTEMDRIVE", "PATHEXT", "COMSPEC", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "USERPROFILE", // Windows
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range s.Env {
		env = append(env, name+"="+v.Reveal()) // the last one of a name counts
	}
	slices.Sort(env[len(env)-len(s.Env):])
	return env
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

var _ io.Writer = (*tail)(nil)

const maxTail = 1 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[max(0, len(b)-maxTail):]...)
	t.b = slices.Clone(t.b[max(0, len(t.b)-maxTail):])
	return len(b), nil
}

// String is the end of it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
