package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store"
)

// What isn't configured is as the store has it; what is, is as written.
func TestRetention_IsConfigured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	load := func(yaml string) store.Keep {
		for name, text := range map[string]string{"parley.yaml": "model: {provider: script, script: model.yaml}\n" + yaml, "model.yaml": "rules: []\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := config.Load(filepath.Join(dir, "parley.yaml"), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return keep(cfg.Store.Retention)
	}
	if d := cmp.Diff(store.DefaultKeep(), load("")); d != "" {
		t.Errorf("defaults (-store +configuration):\n%s", d)
	}
	want := store.Keep{Payload: 1, Dedupe: 2, Outbox: 3, Turns: 4, Unknown: 5, Audit: 6, Log: 7, History: 8}
	got := load("store: {retention: {messages: 1ns, dedupe: 2ns, outbox: 3ns, turns: 4ns, unknown: 5ns, audit: 6ns, log: 7ns, history: 8ns}}")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := load("store: {retention: {dedupe: 0s}}"); got.Dedupe != time.Duration(0) {
		t.Errorf("dedupe %v, want for ever", got.Dedupe)
	}
}
