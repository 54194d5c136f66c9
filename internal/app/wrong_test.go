package app

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestBuild_WrongConfigs has what is said of configurations whose mistakes
// only their owners see: adapters, tools, models. internal/config has the rest.
func TestBuild_WrongConfigs(t *testing.T) {
	t.Parallel()
	const script = "model: {provider: script, script: model.yaml}\n"
	cases := [][2]string{
		{"no channel", script},
		{"two web chats", script + "channels:\n  web: {kind: webchat}\n  shop: {kind: webchat}\n"},
		{"mistakes of an adapter are told with the rest", script + "loop: {max_steps: 0}\nlocale: {en: {ai: {eror: x}}}\nchannels:\n  telegram: {mode: webhook}\n  web: {kind: webchat, titel: Shop}\n"},
		{"an adapter's own check", script + "channels:\n  telegram: {token: \"123:AAE\", mode: webhook}\n  sms: {kind: twilio, account_sid: AC0, auth_token: a}\n"},
		{"Discord without what it needs", script + "channels:\n  discord: {token: \"Bot a.b.c\", mode: interactions, api_url: discord.com, message_content: maybe}\n  dc2: {kind: discord, token: a.b.c, mode: interactions, gateway_url: \"https://x\"}\n"},
		{"a store of a later version", script + "store: {url: \"postgres://u:hunter2@db/parley\"}\nchannels: {web: {kind: webchat}}\n"},
		{"a store that doesn't exist", script + "store: {url: \"mysql://u:hunter2@db/parley\"}\nchannels: {web: {kind: webchat}}\n"},
		{"a web chat's origin", script + "channels: {web: {kind: webchat, origins: [shop.example.com]}}\n"},
		{"a script that is none", script + "tools: {scripts: [broken.ts]}\nchannels: {web: {kind: webchat}}\n"},
		{"a model's rules", "model: {provider: script, script: wrong.yaml}\nchannels: {web: {kind: webchat}}\n"},
		{"two tools of one name", script + "fetch: {allow: [h.example]}\ntools:\n  scripts: [tools.ts]\n  menu: {description: d, http: {url: \"https://h.example\"}}\nchannels: {web: {kind: webchat}}\n"},
	}
	cases = append(cases, [2]string{"pins that were edited", script + "mcp: {servers: {files: {command: [files], allow: [read]}}}\nchannels: {web: {kind: webchat}}\n"})
	dir := t.TempDir()
	for name, text := range map[string]string{
		"model.yaml": "rules:\n  - say: unused\n", "wrong.yaml": "rules:\n  - when: {txet: hi}\n    say: Hi\n",
		"parley.mcp.lock": `{"version":1,"servers":{"files":{"read":{"digest":"sha256:00","description":["Reads."],"schema":{"type":"object"}}}}}`,
		"broken.ts":       "export const tools = {\n  menu: { description 'x' },\n}\n",
		"tools.ts":        "import { defineTool } from 'parley'\nexport const tools = { menu: defineTool({ description: 'd', handler: () => 1 }) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for _, c := range cases {
		path := filepath.Join(dir, "parley.yaml")
		if err := os.WriteFile(path, []byte(c[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path, Kinds())
		if err == nil {
			_, err = Build(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler)})
		}
		if err == nil {
			t.Errorf("%s: no error", c[0])
			continue
		}
		text := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		for line := range strings.Lines(text) {
			if !regexp.MustCompile(` \[P1\d\d\d\]\n?$`).MatchString(line) {
				t.Errorf("%s: no id at the end of %q", c[0], line)
			}
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s: the message holds a secret: %s", c[0], text)
		}
		fmt.Fprintf(&got, "== %s\n%s\n", c[0], text)
	}
	const golden = "testdata/wrong.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("messages changed (-want +got):\n%s", d)
	}
}
