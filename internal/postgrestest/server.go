package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// owner is the superuser of the cluster; it needs no password.
const owner = "parley"

// Server is a cluster that nobody else uses. It listens on a socket in its own
// folder, so that no port can be taken.
type Server struct {
	dir    string
	output bytes.Buffer
	cmd    *exec.Cmd
	exited chan struct{}
	count  atomic.Int64
}

var shared = struct { //nolint:gochecknoglobals // one a test process, whatever its tests
	once sync.Once
	s    *Server
	err  error
}{}

// Main runs a package's tests and ends the cluster, if any test had one: it is
// for TestMain, and gives the exit code.
func Main(m *testing.M) int {
	defer Stop()
	return m.Run()
}

// Stop ends the cluster of this process.
func Stop() {
	if shared.s != nil {
		shared.s.stop()
	}
}

// URL is that of a new, empty database. The test fails where there is no
// PostgreSQL.
func URL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.s, shared.err = start() })
	if shared.err != nil {
		t.Fatalf("PostgreSQL: %v", shared.err)
	}
	return shared.s.database(t)
}

// Own is a cluster for one test alone, which may do to it what it wants.
func Own(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	t.Cleanup(s.stop)
	return s
}

// URL is that of a new, empty database of the cluster.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	return s.database(t)
}

// Halt ends the cluster at once, as a crash would.
func (s *Server) Halt() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // or it has ended
	<-s.exited
}

// Resume starts the cluster again after Halt.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.exited = make(chan struct{})
	s.output.Reset()
	if err := s.launch(filepath.Join(s.dir, "data")); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.wait(ctx); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
}

// Template is a database that others are copies of: its schema is made once.
type Template struct {
	once sync.Once
	name string
	err  error
}

// URL is that of a new copy of the template. The first use makes that, by
// prepare, which must leave no connection to it.
func (p *Template) URL(t testing.TB, prepare func(url string) error) string {
	t.Helper()
	p.once.Do(func() {
		url := URL(t)
		p.name = url[strings.Index(url, "@/")+2 : strings.IndexByte(url, '?')]
		p.err = prepare(url)
	})
	if p.err != nil {
		t.Fatalf("PostgreSQL: make a template: %v", p.err)
	}
	return shared.s.database(t, "-T", p.name)
}

func (s *Server) database(t testing.TB, args ...string) string {
	t.Helper()
	name := fmt.Sprintf("t%d", s.count.Add(1))
	args = append([]string{"-h", s.dir, "-U", owner}, append(args, name)...)
	if out, err := s.program(context.Background(), "createdb", args...).CombinedOutput(); err != nil {
		t.Fatalf("PostgreSQL: create a database: %v\n%s", err, out)
	}
	return "postgres://" + owner + "@/" + name + "?host=" + s.dir
}

func start() (*Server, error) {
	s := &Server{exited: make(chan struct{})}
	var err error
	// The path of a socket has 107 bytes at the most: not in t.TempDir.
	if s.dir, err = os.MkdirTemp("", "parley-pg-"); err != nil {
		return nil, err
	}
	if err := s.giveAway(s.dir); err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	init := s.program(ctx, "initdb", "-D", data, "-U", owner, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), os.RemoveAll(s.dir))
	}
	if err := s.launch(data); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.wait(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// launch starts the server on a thread that lives as long as it: on Linux the
// server ends with that thread, so also with a test process that is killed.
func (s *Server) launch(data string) error {
	s.cmd = s.program(context.Background(), "postgres", "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+s.dir,
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "shared_buffers=16MB")
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	endWithParent(s.cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(s.exited)
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // how it ended is in its output
		}
	}()
	return <-started
}

func (s *Server) wait(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.program(ctx, "pg_isready", "-h", s.dir, "-U", owner, "-d", "postgres").Run() == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server has ended:\n%s", s.output.String())
		case <-ctx.Done():
			return fmt.Errorf("the server isn't ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// stop ends the server at once: nothing in it is worth keeping.
func (s *Server) stop() {
	s.Halt()
	_ = os.RemoveAll(s.dir) // the system's temporary folder
}

// program is one of PostgreSQL's, run as whom the cluster belongs to.
func (s *Server) program(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, find(name), args...) // #nosec G204 -- programs of PostgreSQL, chosen by tests
	cmd.Dir = s.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return len(kv) > 2 && kv[:2] == "PG" }), "LC_ALL=C")
	s.runAs(cmd)
	return cmd
}

// find looks where Debian keeps the versions, the newest first, then in PATH.
func find(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is right
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return found[0]
	}
	return name
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 goes last
	return n
}
