package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	mcptool "github.com/parley-bot/parley/internal/tool/mcp"
)

func newMCP(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Pin the cards of MCP servers' tools, and see what has changed",
		Long: "A tool of an MCP server is offered to models only while its card (name, description, schema) is the one\n" +
			"that was pinned. The pins are in a file beside the configuration, parley.mcp.lock: review it and keep it with it.",
		Example: "  parley mcp diff\n  parley mcp pin\n  parley mcp pin files -c mybot/parley.yaml",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []struct {
		use, short, example string
		write               bool
	}{
		{"pin [SERVER…]", "Connect to the servers and pin the cards of the allowed tools", "  parley mcp pin\n  parley mcp pin files", true},
		{"diff [SERVER…]", "Show what the servers' cards have that the pins don't; exit 1 where they differ", "  parley mcp diff\n  parley mcp diff files || parley mcp pin files", false},
	} {
		sub := &cobra.Command{
			Use: c.use, Short: c.short, Example: c.example, Args: cobra.ArbitraryArgs,
			RunE: func(cmd *cobra.Command, args []string) error { return pins(cmd, args, c.write) },
		}
		configFlag(sub)
		checkArgs(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// errDiffers is what diff ends with where there is something to review.
var errDiffers = errors.New("the servers' cards are not the pinned ones; when you have read the difference: parley mcp pin")

func pins(cmd *cobra.Command, servers []string, write bool) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	p, err := app.MCP(cmd.Context(), cfg, newLog(cmd, cfg), servers, write)
	if errors.Is(err, app.ErrNoMCP) || errors.Is(err, mcptool.ErrNotConfigured) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprint(out, p.Diff)
	for _, line := range p.Others {
		fmt.Fprintln(out, "not allowed:", line)
	}
	switch {
	case p.Diff == "" && len(p.Problems) == 0:
		fmt.Fprintf(out, "%s: nothing differs\n", p.File)
	case write && p.Diff != "":
		fmt.Fprintf(out, "%s: written\n", p.File)
	case p.Diff != "":
		p.Problems = append(p.Problems, errDiffers)
	}
	return errors.Join(p.Problems...)
}
