package app

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/openai"
	"github.com/parley-bot/parley/internal/llm/script"
)

// scriptMax bounds a scripted model's file.
const scriptMax = 4 << 20

// newProvider makes the client of one configured model: the one table of
// model APIs.
func newProvider(cfg *config.Config, m config.Model) (llm.Provider, error) {
	switch m.Provider {
	case "script":
		doc, err := cfg.ReadFile(m.Script, scriptMax)
		if err != nil {
			return nil, fmt.Errorf("reading model.script: %w", err)
		}
		return script.New(doc, m.Script)
	default:
		c := openai.Config{}
		if preset, ok := openai.Preset(m.Provider); ok {
			c = preset
		}
		c.Name, c.Model, c.APIKey, c.Timeout = m.Provider, m.Name, m.APIKey, m.Timeout
		if m.BaseURL != "" {
			c.BaseURL = m.BaseURL
		}
		return openai.New(c)
	}
}

// newChain makes the configured model and its fallbacks.
func newChain(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) (*llm.Chain, []llm.Provider, error) {
	var members []llm.Member
	var providers []llm.Provider
	for _, m := range append([]config.Model{cfg.Model}, cfg.Model.Fallback...) {
		p, err := newProvider(cfg, m)
		if err != nil {
			return nil, nil, err
		}
		providers = append(providers, p)
		members = append(members, llm.Member{Provider: p, MaxTokens: m.MaxTokens})
	}
	metrics, err := llm.NewMetrics(reg, providers...)
	if err != nil {
		return nil, nil, err
	}
	return llm.NewChain(members, llm.Options{Deadline: cfg.Model.Deadline, Observer: metrics, Log: log}), providers, nil
}
