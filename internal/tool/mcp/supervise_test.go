package mcptool

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Attempts come ever more slowly, and calls don't wait for late ones.
func TestSupervise_BacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Lock{}, nil, Server{Name: "s", Allow: allow("t")})
		start := time.Now()
		var at []time.Duration
		s := b.servers[0]
		s.wait = firstWait
		s.dial = func(context.Context) (link, error) {
			at = append(at, time.Since(start))
			return link{}, errors.New("no such program")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		b.Run(ctx, func() {})
		if len(at) < 8 || len(at) > 12 {
			t.Fatalf("attempts at %v", at)
		}
		for i := 1; i < len(at); i++ {
			pause, want := at[i]-at[i-1], min(firstWait<<(i-1), mostWait)
			if pause < want || pause > want+want/4+1 {
				t.Errorf("pause %d is %s, want %s and a quarter at the most", i, pause, want)
			}
		}
	})
}

// A server that says nothing of its changes is asked now and then.
func TestSupervise_E4_AsksServersThatDontTell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		remote := mcp.NewServer(&mcp.Implementation{Name: "quiet", Version: "1"}, &mcp.ServerOptions{
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
		remote.AddTool(remoteTool("t", "Does it."), says("done"))
		b := pinned(t, map[string]*mcp.Server{"s": remote}, Server{Name: "s", Allow: allow("t")})
		synctest.Wait()
		remote.AddTool(remoteTool("t", "Does something else."), says("done"))
		synctest.Wait()
		if len(b.held()) != 0 {
			t.Fatalf("it was told: %v", b.held())
		}
		time.Sleep(relistEvery)
		synctest.Wait()
		if got := b.held()["s/t"]; got != Changed {
			t.Errorf("quarantine %v", b.held())
		}
		b.stop()
	})
}

// A server that answers neither a call nor a ping is started anew.
func TestSupervise_AServerThatHangsIsStartedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		remote := newRemote()
		var hang atomic.Bool
		remote.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if hang.Load() && (method == "tools/call" || method == "ping") {
					<-stuck
				}
				return next(ctx, method, req)
			}
		})
		remote.AddTool(remoteTool("t", "Does it."), says("done"))
		b := pinned(t, map[string]*mcp.Server{"s": remote}, Server{Name: "s", Allow: allow("t")})
		synctest.Wait()
		s := b.servers[0]
		first := s.sess
		hang.Store(true)
		if res := b.call("s_t", `{}`, time.Second); !res.TimedOut {
			t.Errorf("result %s", res.Value)
		}
		time.Sleep(pingTimeout + 5*patience + firstWait)
		hang.Store(false)
		synctest.Wait()
		if s.sess == first || s.sess == nil {
			t.Errorf("the session is the same; log:\n%s", b.log)
		}
		if res := b.call("s_t", `{}`, enough); res.Failed {
			t.Errorf("afterwards: %s", res.Value)
		}
		close(stuck)
		b.stop()
	})
}
