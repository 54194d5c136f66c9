package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/openai"
)

// Every provider that check offers can be made, and is named as configured.
func TestProviders_WhatIsOfferedIsThere(t *testing.T) {
	t.Parallel()
	offered := Kinds().Providers
	for _, want := range []string{"openai", "anthropic", "gemini", "ollama", "script", "groq"} {
		if !slices.Contains(offered, want) {
			t.Errorf("%s isn't offered", want)
		}
	}
	for _, name := range offered {
		if name == "script" { // wants a file
			continue
		}
		m := config.Model{Provider: name, Name: "m"}
		if name == "azure" {
			m.BaseURL = "https://x.openai.azure.com/openai/v1"
		}
		p, err := newProvider(&config.Config{}, m)
		if err != nil || p.Name() != name || p.Model() != "m" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, ok := p.(llm.CardEncoder); !ok {
			t.Errorf("%s can't show its cards", name)
		}
	}
}

// A preset that the client doesn't know would be sent, key and all, to OpenAI.
func TestProviders_EveryPresetIsTheClients(t *testing.T) {
	t.Parallel()
	local := strings.NewReplacer("localhost", "127.0.0.1")
	for _, p := range config.Presets() {
		cfg, ok := openai.Preset(p.Name)
		if !ok || local.Replace(cfg.BaseURL) != p.BaseURL {
			t.Errorf("%s: known %v, at %q, want %q", p.Name, ok, cfg.BaseURL, p.BaseURL)
		}
	}
}

func TestCheckModels_NamesAModelWithoutTools(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"details":{},"capabilities":["completion"]}`))
	}))
	t.Cleanup(srv.Close)
	p, err := newProvider(&config.Config{}, config.Model{Provider: "ollama", Name: "gemma:2b", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckModels(t.Context(), []llm.Provider{p}, false); err != nil {
		t.Errorf("without tools: %v", err)
	}
	err = CheckModels(t.Context(), []llm.Provider{p}, true)
	if !llm.HasClass(err, llm.NoTools) || !strings.Contains(err.Error(), "ollama/gemma:2b") {
		t.Errorf("with tools: %v", err)
	}
}
