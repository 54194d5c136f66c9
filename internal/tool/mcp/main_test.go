package mcptool

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain is also the program of the servers that tests start: what it does
// then is in its environment.
func TestMain(m *testing.M) {
	if what := os.Getenv("MCP_TEST_SERVER"); what != "" {
		os.Exit(child(what))
	}
	os.Exit(m.Run())
}

// child is a server on standard input and output.
func child(what string) int {
	switch what {
	case "parent": // runs a server of its own until it is killed
		return parent()
	case "mute": // reads and never answers
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "deaf": // not even that
		select {}
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence for", os.Getenv("API_TOKEN"))
		return 3
	case "chatter": // prints what is no message
		fmt.Println("Welcome to my server!")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "child", Version: "1"}, nil)
	add := func(name string, h mcp.ToolHandler) { s.AddTool(remoteTool(name, "Does "+name+"."), h) }
	add("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(7)
		return nil, nil
	})
	add("huge", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(strings.Repeat("x", 50<<20)), nil
	})
	add("flood", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w := bufio.NewWriter(os.Stdout)
		for {
			// Past the SDK: it would wait for us.
			if _, err := fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`); err != nil {
				return nil, err
			}
		}
	})
	add("env", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(strings.Join(os.Environ(), "\n")), nil
	})
	add("pid", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(fmt.Sprint(os.Getpid())), nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// parent starts a server as a fleet does, tells that it runs, and waits.
func parent() int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	p, err := spawn(Server{Name: "s", Command: []string{exe}, Env: secrets("MCP_TEST_SERVER", "deaf")})
	if err != nil {
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(p.cmd.Process.Pid); err != nil {
		return 1
	}
	select {}
}
