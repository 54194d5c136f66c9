package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/llm"
)

func newTools(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "Print the tool cards as the models receive them",
		Example: "  parley tools\n  parley tools --provider openai",
		RunE:    printTools,
	}
	configFlag(cmd)
	cmd.Flags().String("provider", "", "only that `PROVIDER`")
	return cmd
}

func printTools(cmd *cobra.Command, _ []string) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	bot, err := app.Build(cmd.Context(), cfg, app.Options{Log: newLog(cmd, cfg), In: cmd.InOrStdin(), Out: cmd.OutOrStdout()})
	if err != nil {
		return usageError{err}
	}
	only, _ := cmd.Flags().GetString("provider") // declared above
	var cards []llm.Card
	for _, t := range bot.Tools() {
		name, desc, schema := t.Card()
		cards = append(cards, llm.Card{Name: name, Description: desc, Schema: schema})
	}
	shown := 0
	for _, p := range bot.Models() {
		if only != "" && p.Name() != only {
			continue
		}
		shown++
		if err := printCards(cmd, p, cards); err != nil {
			return err
		}
	}
	if shown == 0 {
		return usageError{fmt.Errorf("no model of provider %q is configured", only)}
	}
	for _, line := range bot.Quarantined() {
		fmt.Fprintln(cmd.OutOrStdout(), "# quarantined:", line)
	}
	return bot.Close(cmd.Context())
}

func printCards(cmd *cobra.Command, p llm.Provider, cards []llm.Card) error {
	var body json.RawMessage
	var err error
	if e, ok := p.(llm.CardEncoder); ok {
		body, err = e.EncodeCards(cards)
	} else {
		body, err = json.Marshal(cards)
	}
	if err != nil {
		return fmt.Errorf("encoding cards for %s: %w", p.Name(), err)
	}
	var shown any
	if err := json.Unmarshal(body, &shown); err != nil {
		return fmt.Errorf("encoding cards for %s: %w", p.Name(), err)
	}
	pretty, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding cards for %s: %w", p.Name(), err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "# %s/%s: %s, about %s\n%s\n", p.Name(), p.Model(),
		counted(len(cards), "tool"), counted(llm.EstimateTokens(string(body)), "token"), pretty)
	return nil
}
