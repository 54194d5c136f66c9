package mcptool

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	remote := newRemote()
	add := func(b tooltest.Behaviour, h mcp.ToolHandler) { remote.AddTool(remoteTool(string(b), "Does it."), h) }
	add(tooltest.Echo, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}},
			StructuredContent: r.Params.Arguments,
		}, nil
	})
	add(tooltest.Text, says("hola"))
	add(tooltest.Nothing, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	add(tooltest.Fails, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var res mcp.CallToolResult
		res.SetError(errors.New("no such file"))
		return &res, nil
	})
	add(tooltest.Hangs, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add(tooltest.Large, says(strings.Repeat("é", 100<<10)))
	all := []tooltest.Behaviour{tooltest.Echo, tooltest.Text, tooltest.Nothing, tooltest.Fails, tooltest.Hangs, tooltest.Large}
	var names []string
	for _, b := range all {
		names = append(names, string(b))
	}
	bed := pinned(t, map[string]*mcp.Server{"s": remote}, Server{Name: "s", Allow: allow(names...)})
	// A server that is away can't run anything.
	gone := newServer(Server{Name: "gone"}, Lock{}, slog.New(slog.DiscardHandler), bed.servers[0].metrics)
	gone.down = true
	tooltest.Run(t, func(_ *testing.T, b tooltest.Behaviour) (tool.Runner, bool) {
		if b == tooltest.Barred {
			return &runner{server: gone}, true
		}
		for _, tl := range bed.Pinned() {
			if tl.Name == "s_"+string(b) {
				return tl.Runner, true
			}
		}
		return nil, false // a remote server is told nothing of who asks
	})
}
