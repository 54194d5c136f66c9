//go:build unix

package mcptool

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childServer is this test's own program as a server.
func childServer(t *testing.T, what string, tools ...string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{
		Name: "child", Command: []string{exe}, Env: secrets("MCP_TEST_SERVER", what, "API_TOKEN", "canary-of-the-child"),
		StartTimeout: 20 * time.Second, Allow: allow(tools...),
	}
}

func TestProcess_ADeathIsAnUnknownOutcomeAndTheServerComesBack(t *testing.T) {
	t.Parallel()
	b := pinned(t, nil, childServer(t, "tools", "die", "pid"))
	first := b.call("child_pid", `{}`, enough)
	if res := b.call("child_die", `{}`, enough); code(res) != "connection_lost" || !res.Unknown {
		t.Errorf("result %s, unknown %v", res.Value, res.Unknown)
	}
	second := b.call("child_pid", `{}`, enough)
	if second.Failed || string(second.Value) == string(first.Value) {
		t.Errorf("first %s, then %s; log:\n%s", first.Value, second.Value, b.log)
	}
}

func TestProcess_E5_AHugeResultEndsThatSessionOnly(t *testing.T) {
	t.Parallel()
	b := pinned(t, nil, childServer(t, "tools", "huge", "pid"))
	if res := b.call("child_huge", `{}`, enough); code(res) != "connection_lost" || !res.Unknown {
		t.Errorf("result %.200s, unknown %v", res.Value, res.Unknown)
	}
	if res := b.call("child_pid", `{}`, enough); res.Failed {
		t.Errorf("afterwards: %s; log:\n%s", res.Value, b.log)
	}
}

func TestProcess_AFloodEndsThatSessionOnly(t *testing.T) {
	t.Parallel()
	b := pinned(t, nil, childServer(t, "tools", "flood", "pid"))
	if res := b.call("child_flood", `{}`, enough); code(res) != "connection_lost" || !res.Unknown {
		t.Errorf("result %s, unknown %v", res.Value, res.Unknown)
	}
	if res := b.call("child_pid", `{}`, enough); res.Failed {
		t.Errorf("afterwards: %s", res.Value)
	}
	if !strings.Contains(b.log.String(), errFlood.Error()) {
		t.Errorf("log:\n%s", b.log)
	}
}

func TestProcess_HasLittleOfParleysEnvironment(t *testing.T) {
	t.Setenv("TELEGRAM_TOKEN", "canary-of-parley")
	b := pinned(t, nil, childServer(t, "tools", "env"))
	text := string(b.call("child_env", `{}`, enough).Value)
	if strings.Contains(text, "canary") || !strings.Contains(text, "PATH=") || !strings.Contains(text, "API_TOKEN=***") {
		t.Errorf("environment %s", text)
	}
}

func TestProcess_StartThatFailsSaysWhyWithoutSecrets(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{"broken": "exit status 3 no licence for ***", "mute": "didn't answer in time", "chatter": "initializing"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := childServer(t, what, "t")
			if what == "mute" {
				s.StartTimeout = 100 * time.Millisecond
			}
			seen, err := newBed(t, Lock{}, nil, s).Look(t.Context(), Lock{}, nil)
			problems := seen.Problems
			if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
				t.Errorf("problems %v, error %v; want %q", problems, err, want)
			}
		})
	}
	s := Server{Name: "s", Command: []string{"/no/such/program"}, Allow: allow("t")}
	seen, _ := newBed(t, Lock{}, nil, s).Look(t.Context(), Lock{}, nil)
	problems := seen.Problems
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "/no/such/program") {
		t.Errorf("problems %v", problems)
	}
}

// When the fleet stops, so do the processes, also one that doesn't want to.
func TestProcess_StopEndsTheProcess(t *testing.T) {
	t.Parallel()
	b := pinned(t, nil, childServer(t, "tools", "pid"))
	pid, err := strconv.Atoi(strings.Trim(string(b.call("child_pid", `{}`, enough).Value), `"`))
	if err != nil {
		t.Fatal(err)
	}
	b.stop()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d is still there", pid)
	}
	p, err := spawn(childServer(t, "deaf"))
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	select {
	case <-p.done:
	case <-time.After(enough):
		t.Error("a process that ignores the end of its input is still there")
	}
}

// What a killed parley leaves behind: nothing. The server's end is seen by the
// end of a pipe that only it holds.
func TestProcess_DiesWithAParleyThatIsKilled(t *testing.T) {
	t.Parallel()
	if !endsWithParent {
		t.Log("this system has no way to it; the server sees the end of its input")
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), exe)
	parent.Env = append(os.Environ(), "MCP_TEST_SERVER=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	gone := time.After(enough)
	for !isGone(pid) {
		select {
		case <-gone:
			t.Fatalf("process %d is still there", pid)
		default:
		}
	}
}
