package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

func secrets(pairs ...string) map[string]secret.String {
	m := map[string]secret.String{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = secret.New(pairs[i+1])
	}
	return m
}

// remoteTool is a card that takes any arguments.
func remoteTool(name, description string) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func says(text string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said(text), nil }
}

func newRemote() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
}

func allow(names ...string) (out []Allowed) {
	for _, n := range names {
		out = append(out, Allowed{Name: n})
	}
	return out
}

// bed is a fleet with what it logs and tells.
type bed struct {
	*Fleet
	t       *testing.T
	lock    Lock
	log     *syncBuffer
	changed chan struct{}
	reg     *prometheus.Registry
	stop    func()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newBed makes a fleet that doesn't run yet. remotes are servers in the same
// process, by name; the others are reached as they are configured.
func newBed(t *testing.T, lock Lock, remotes map[string]*mcp.Server, servers ...Server) *bed {
	t.Helper()
	b := &bed{t: t, lock: lock, log: &syncBuffer{}, changed: make(chan struct{}, 100), reg: prometheus.NewRegistry(), stop: func() {}}
	for i, s := range servers {
		if len(s.Command) == 0 && s.URL.Empty() {
			servers[i].Command = []string{"in-process"}
		}
	}
	f, err := New(servers, lock, Options{Log: slog.New(slog.NewTextHandler(b.log, nil)), Registerer: b.reg})
	if err != nil {
		t.Fatal(err)
	}
	b.Fleet = f
	for _, s := range f.servers {
		s.wait = 10 * time.Millisecond
		if remote := remotes[s.cfg.Name]; remote != nil {
			s.dial = inProcess(remote)
		}
	}
	return b
}

func inProcess(remote *mcp.Server) func(context.Context) (link, error) {
	return func(ctx context.Context) (link, error) {
		here, there := mcp.NewInMemoryTransports()
		ss, err := remote.Connect(ctx, there, nil)
		if err != nil {
			return link{}, err
		}
		context.AfterFunc(ctx, func() { _ = ss.Close() })
		return link{transport: here, said: func() string { return "" }, end: func() {}}, nil
	}
}

// run begins to run the fleet; it ends with the test.
func (b *bed) run() *bed {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx, func() { b.changed <- struct{}{} })
	}()
	b.stop = sync.OnceFunc(func() { cancel(); <-done })
	b.t.Cleanup(b.stop)
	return b
}

// pinned pins what the servers list now, and runs a fleet with these pins.
func pinned(t *testing.T, remotes map[string]*mcp.Server, servers ...Server) *bed {
	t.Helper()
	return newBed(t, pin(t, remotes, servers...), remotes, servers...).run()
}

func pin(t *testing.T, remotes map[string]*mcp.Server, servers ...Server) Lock {
	t.Helper()
	seen, err := newBed(t, Lock{}, remotes, servers...).Look(t.Context(), Lock{}, nil)
	if err != nil || len(seen.Problems) > 0 {
		t.Fatalf("pinning: %v %v", err, seen.Problems)
	}
	return seen.Lock
}

func (b *bed) names() []string {
	var out []string
	for _, t := range b.Tools() {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

// held is what is quarantined, as server/tool: reason.
func (b *bed) held() map[string]Reason {
	out := map[string]Reason{}
	for _, q := range b.Quarantined() {
		out[q.Server+"/"+q.Tool] = q.Reason
	}
	return out
}

// until waits for a change of what is offered that brings the quarantine to
// want.
func (b *bed) until(want map[string]Reason) {
	b.t.Helper()
	for !maps.Equal(b.held(), want) {
		select {
		case <-b.changed:
		case <-time.After(20 * time.Second):
			b.t.Fatalf("quarantine %v, want %v; log:\n%s", b.held(), want, b.log)
		}
	}
}

// call runs a tool as the tool loop does, by its offered name.
func (b *bed) call(name, args string, timeout time.Duration) tool.Result {
	b.t.Helper()
	for _, t := range b.Pinned() {
		if t.Name == name {
			res, err := tool.NewLimiter(10*time.Second).RunLimited(b.t.Context(), t.Runner, tool.Call{ID: "turn.1.1", Tool: name, Args: json.RawMessage(args)}, timeout)
			if err != nil {
				b.t.Fatalf("%s: operator's error: %v", name, err)
			}
			return res
		}
	}
	b.t.Fatalf("no tool %s", name)
	return tool.Result{}
}

const enough = time.Minute

// code is the error of a failed result.
func code(res tool.Result) string {
	var v struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(res.Value, &v)
	return v.Error
}
