//go:build unix

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a process that is started again whenever it was killed. Its
// address changes with each start.
type daemon struct {
	t     *testing.T
	spawn func(start int) *exec.Cmd // start counts from 1
	ended chan struct{}

	mu       sync.Mutex
	cmd      *exec.Cmd
	ready    chan struct{} // closed once url is good
	url      string
	starts   int
	commits  int64 // of a clean stop
	size     size
	stopping bool
	// fair are kills that the test asked for; any other end is a failure.
	fair  int
	tail  []string // of its log, for who has to find out
	wrong []string
	// expects are messages of its log that are no failure, though errors.
	expects map[string]bool
}

// newDaemon starts one. fair is how many kills spawn's processes bring about
// by themselves, at the most; expects are errors that it may log.
func newDaemon(t *testing.T, fair int, spawn func(start int) *exec.Cmd, expects ...string) *daemon {
	t.Helper()
	d := &daemon{
		t: t, spawn: spawn, fair: fair, ready: make(chan struct{}), ended: make(chan struct{}), expects: map[string]bool{},
	}
	for _, msg := range expects {
		d.expects[msg] = true
	}
	go d.run()
	t.Cleanup(func() {
		d.mu.Lock()
		d.stopping = true
		if d.cmd != nil && d.cmd.Process != nil {
			_ = d.cmd.Process.Kill() // it may have ended
		}
		d.mu.Unlock()
		<-d.ended
		if t.Failed() {
			d.mu.Lock()
			defer d.mu.Unlock()
			t.Logf("the daemon's last words, after %d starts:\n%s", d.starts, strings.Join(d.tail, "\n"))
		}
	})
	return d
}

func (d *daemon) run() {
	defer close(d.ended)
	for {
		err := d.once()
		d.mu.Lock()
		over := d.stopping
		switch exit, ok := errors.AsType[*exec.ExitError](err); {
		case over:
			if err != nil {
				d.wrong = append(d.wrong, "stopping: "+err.Error())
			}
		case ok && killed(exit) && d.fair > 0:
			d.fair--
		default:
			d.wrong = append(d.wrong, fmt.Sprintf("start %d ended by itself: %v", d.starts, err))
			over = true
		}
		d.mu.Unlock()
		if over {
			return
		}
	}
}

func killed(e *exec.ExitError) bool {
	st, ok := e.Sys().(syscall.WaitStatus)
	return ok && st.Signaled() && st.Signal() == syscall.SIGKILL
}

// once is the life of one process.
func (d *daemon) once() error {
	d.mu.Lock()
	if d.stopping {
		d.mu.Unlock()
		return nil
	}
	d.starts++
	cmd := d.spawn(d.starts)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	d.cmd = cmd
	d.mu.Unlock()
	if err != nil {
		return err
	}
	d.follow(out)
	err = cmd.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.url != "" {
		d.url, d.ready = "", make(chan struct{})
	}
	return err
}

// follow reads the process's log, where it says its address.
func (d *daemon) follow(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Level   string `json:"level"`
			Msg     string `json:"msg"`
			Addr    string `json:"addr"`
			Commits int64  `json:"commits"`
			Size    size   `json:"size"`
		}
		known := json.Unmarshal(lines.Bytes(), &line) == nil
		d.mu.Lock()
		d.tail = append(d.tail, lines.Text())
		d.tail = d.tail[max(0, len(d.tail)-60):]
		switch {
		case known && line.Msg == "listening" && d.url == "":
			d.url = "http://" + line.Addr
			close(d.ready)
		case known && line.Msg == "measured":
			d.size = line.Size
		case known && line.Msg == "stopped":
			d.commits = line.Commits
		case known && line.Level == "ERROR" && !d.expects[line.Msg], strings.HasPrefix(lines.Text(), "panic:"):
			d.wrong = append(d.wrong, lines.Text())
		}
		d.mu.Unlock()
	}
}

// base is the address, once it listens.
func (d *daemon) base(ctx context.Context) (string, error) {
	for {
		d.mu.Lock()
		url, ready := d.url, d.ready
		d.mu.Unlock()
		if url != "" {
			return url, nil
		}
		select {
		case <-ready:
		case <-d.ended:
			return "", errors.New("the daemon has ended for good")
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for the daemon: %w", context.Cause(ctx))
		}
	}
}

// kill is kill -9.
func (d *daemon) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fair++
	_ = d.cmd.Process.Kill() // where it has died already, that is as good
}

// count is how often it was started.
func (d *daemon) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.starts
}

// reached waits until it was started n times.
func (d *daemon) reached(ctx context.Context, n int) bool {
	for d.count() < n {
		if !pause(ctx, time.Millisecond) {
			return false
		}
	}
	return true
}

// measured is the size that the process told.
func (d *daemon) measured() size {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size
}

// stop ends it in good order and tells what went wrong in all its life.
func (d *daemon) stop() {
	d.t.Helper()
	d.mu.Lock()
	d.stopping = true
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	d.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
		d.t.Fatalf("the daemon did not stop within %s of SIGTERM", patience)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.wrong {
		d.t.Errorf("daemon: %s", w)
	}
}

// again is this binary as a daemon.
func again(mode, data, backend string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envMode+"="+mode, envData+"="+data, envBackend+"="+backend)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// parley builds the real program, once for all tests.
func parley(t *testing.T) string {
	t.Helper()
	bin := t.TempDir() + "/parley"
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/parley-bot/parley/cmd/parley")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building parley: %v\n%s", err, out)
	}
	return bin
}

// pause waits a moment before something is looked at again.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
