package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/anthropic"
	"github.com/parley-bot/parley/internal/llm/gemini"
	"github.com/parley-bot/parley/internal/llm/ollama"
	"github.com/parley-bot/parley/internal/llm/openai"
	"github.com/parley-bot/parley/internal/llm/script"
)

// scriptMax bounds a scripted model's file.
const scriptMax = 4 << 20

// providerKind makes the client of one model API.
type providerKind struct {
	kind string
	make func(cfg *config.Config, m config.Model) (llm.Provider, error)
}

// providerKinds is the one table of model APIs. The presets of OpenAI's are
// providers too.
func providerKinds() []providerKind {
	return []providerKind{
		{"openai", newOpenAI},
		{"anthropic", newAnthropic},
		{"gemini", newGemini},
		{"ollama", newOllama},
		{"script", newScript},
	}
}

// newProvider makes the client of one configured model.
func newProvider(cfg *config.Config, m config.Model) (llm.Provider, error) {
	for _, k := range providerKinds() {
		if k.kind == m.Provider {
			return k.make(cfg, m)
		}
	}
	return newOpenAI(cfg, m)
}

func newOpenAI(_ *config.Config, m config.Model) (llm.Provider, error) {
	c := openai.Config{}
	if preset, ok := openai.Preset(m.Provider); ok {
		c = preset
	}
	c.Name = m.Provider
	at := endpoint(m)
	at.BaseURL = cmp.Or(at.BaseURL, c.BaseURL)
	c.Endpoint = at
	return openai.New(c)
}

func endpoint(m config.Model) llm.Endpoint {
	return llm.Endpoint{Model: m.Name, APIKey: m.APIKey, BaseURL: m.BaseURL, Timeout: m.Timeout}
}

func newAnthropic(_ *config.Config, m config.Model) (llm.Provider, error) {
	return anthropic.New(endpoint(m))
}

func newGemini(_ *config.Config, m config.Model) (llm.Provider, error) {
	return gemini.New(endpoint(m))
}

func newOllama(_ *config.Config, m config.Model) (llm.Provider, error) {
	return ollama.New(endpoint(m))
}

func newScript(cfg *config.Config, m config.Model) (llm.Provider, error) {
	doc, err := cfg.ReadFile(m.Script, scriptMax)
	if err != nil {
		return nil, fmt.Errorf("reading model.script: %w", err)
	}
	return script.New(doc, m.Script)
}

// CheckModels asks the APIs of the models that can tell (llm.Checker) whether
// address, key and model are good. tools says whether the models are to take
// any. The error joins all that is wrong.
func CheckModels(ctx context.Context, models []llm.Provider, tools bool) error {
	var wrong []error
	for _, p := range models {
		if c, ok := p.(llm.Checker); ok {
			wrong = append(wrong, c.Check(ctx, tools))
		}
	}
	return errors.Join(wrong...)
}

// newChain makes the configured model and its fallbacks.
func newChain(cfg *config.Config, metrics *llm.Metrics, log *slog.Logger) (*llm.Chain, []llm.Provider, error) {
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
	metrics.Expect(providers...)
	return llm.NewChain(members, llm.Options{Deadline: cfg.Model.Deadline, Observer: metrics, Log: log}), providers, nil
}
