//go:build slim

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/config"
)

// TestSlim_NamesTheFullBuild: the slim build knows the kind, says where it is,
// and finds nothing else wrong with the channel.
func TestSlim_NamesTheFullBuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "parley.yaml")
	for name, text := range map[string]string{
		"parley.yaml": "model: {provider: script, script: model.yaml}\nchannels:\n  wa: {kind: whatsapp_web, mark_read: false, device_name: shop}\n",
		"model.yaml":  "rules:\n  - say: hi\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := config.Load(file, Kinds())
	if err == nil {
		t.Fatal("it was taken")
	}
	text := err.Error()
	if !strings.Contains(text, "parley.yaml:3:") || !strings.Contains(text, "slim build") || !strings.Contains(text, "make build") || strings.Count(text, "\n") > 1 {
		t.Errorf("it says:\n%s", text)
	}
}
