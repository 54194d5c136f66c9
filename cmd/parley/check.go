package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
)

func newCheck(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check the configuration and everything it names",
		Long:    "Does all that serve does before it starts: reads the configuration, loads scripts, checks tools and texts.\nMistakes are told as file:line:column and end it with 2; advice about tools is told and ends it with 0.",
		Example: "  parley check -c parley.yaml\n  parley check --live",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return allMistakes(cmd, err)
			}
			bot, err := app.Build(cmd.Context(), cfg, app.Options{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Log: newLog(cmd, cfg)})
			if err != nil {
				return usageError{err}
			}
			out := cmd.OutOrStdout()
			for _, f := range bot.Findings() {
				fmt.Fprintf(out, "advice: tool %s: %s (%s)\n", f.Tool, f.Message, f.Rule)
			}
			for _, line := range bot.Quarantined() {
				fmt.Fprintln(out, "quarantined:", line)
			}
			if live, _ := cmd.Flags().GetBool("live"); live { // declared below
				if err := bot.CheckLive(cmd.Context(), func(line string) { fmt.Fprintln(out, line) }); err != nil {
					return errors.Join(err, bot.Close(cmd.Context()))
				}
			}
			name := cfg.Source
			if cfg.Demo {
				name = "built-in demo"
			}
			fmt.Fprintf(out, "%s: ok, %s, %s, %s\n", name,
				counted(len(bot.Channels()), "channel"), counted(len(bot.Tools()), "tool"), counted(len(bot.Models()), "model"))
			return bot.Close(cmd.Context())
		},
	}
	configFlag(cmd)
	cmd.Flags().Bool("live", false, "also call each platform, MCP server and model's API, to prove the credentials")
	return cmd
}
