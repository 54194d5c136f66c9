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
		{"a database without its name", script + "store: {url: \"postgres://u:hunter2@db/\"}\nchannels: {web: {kind: webchat}}\n"},
		{"a store that doesn't exist", script + "store: {url: \"mysql://u:hunter2@db/parley\"}\nchannels: {web: {kind: webchat}}\n"},
		{"a web chat's origin", script + "channels: {web: {kind: webchat, origins: [shop.example.com]}}\n"},
		{"a script that is none", script + "tools: {scripts: [broken.ts]}\nchannels: {web: {kind: webchat}}\n"},
		{"a model's rules", "model: {provider: script, script: wrong.yaml}\nchannels: {web: {kind: webchat}}\n"},
		{"two tools of one name", script + "fetch: {allow: [h.example]}\ntools:\n  scripts: [tools.ts]\n  menu: {description: d, http: {url: \"https://h.example\"}}\nchannels: {web: {kind: webchat}}\n"},
	}
	const tools = "fetch: {allow: [h.example]}\nchannels: {web: {kind: webchat}}\ntools:\n"
	cases = append(cases, [][2]string{
		{"an HTTP tool's auth", script + tools + "  a:\n    description: d\n    http:\n      url: https://h.example\n      headers: {Authorization: x}\n" +
			"      auth:\n        basic:\n          user: a:b\n          password: hunter2\n        hmac: {secret: hunter2}\n" +
			"  b:\n    description: d\n    http:\n      url: https://h.example\n      auth:\n        basic:\n          user: a:b\n          password: hunter2\n" +
			"  c:\n    description: d\n    http:\n      url: https://h.example\n      headers: {Authorization: x}\n      auth:\n        bearer: hunter2\n" +
			"  d:\n    description: d\n    http:\n      url: https://h.example\n      auth:\n        hmac: {secret: hunter2}\n" +
			"  e:\n    description: d\n    http:\n      url: https://h.example\n      method: POST\n      auth:\n        hmac:\n          secret: hunter2\n          header: Host\n"},
		{"an HTTP tool's body", script + tools + "  a:\n    description: d\n    http:\n      url: https://h.example\n      method: POST\n      body: {note: \"{nte}\"}\n" +
			"  b:\n    description: d\n    http:\n      url: https://h.example\n      body: {}\n" +
			"  c:\n    description: d\n    http:\n      url: https://h.example\n      encoding: form\n" +
			"  d:\n    description: d\n    http:\n      url: https://h.example\n      method: POST\n      encoding: form\n      body: [1]\n"},
		{"an HTTP tool's status and result", script + tools + "  a:\n    description: d\n    http:\n      url: https://h.example\n      result: /a~2\n      status:\n        404: none\n        4x: none\n        5xx: \"\"\n" +
			"  b:\n    description: d\n    http:\n      url: https://h.example\n      bind: {id: user.id}\n      result: |\n        body.items.map(i =>\n          i.name))\n"},
		{"an SQL tool", script + "data: {shop: {url: \"sqlite://shop.db\"}}\nchannels: {web: {kind: webchat}}\ntools:\n  a:\n    description: d\n    sql:\n      query: delete from t where a = :b\n      bind: {c: user.id}\n      max_rows: -1\n"},
		{"what is told in one go", "model: {provider: script, script: wrong.yaml}\nlimits: {workers: 0}\nconfirm: {timeout: 5}\nfetch: {allow: [h.example]}\n" +
			"channels: {web: {kind: webchat}, telegram: {tokn: x}}\ntools:\n  scripts: [broken.ts, gone.ts]\n" +
			"  a: {description: d, http: {url: \"https://h.example\", result: \"body.(\"}}\n" +
			"  b: {description: d, http: {url: \"https://other.example\", result: \"body.(\"}}\n" +
			"  c: {description: d, confirm_message: \"Pay {amount}?\", http: {url: \"https://h.example\"}}\n"},
		{"one mistake hides no other, but those that come from it", "model: {provider: opnai, script: wrong.yaml}\nfetch: {allow: [\"https://h.example\"]}\n" +
			"data: {shop: {url: \"mysql://x\"}}\nchannels: {web: }\nlocale: {en: {ai: {eror: x}}}\ntools:\n  scripts: [broken.ts]\n" +
			"  a: {description: d, http: {url: \"https://h.example\"}}\n  b: {description: d, sql: {query: select 1}}\n"},
		{"a file that can't be read hides all", script + "tools:\n\tscripts: [broken.ts]\n"},
	}...)
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
		opts := Options{Log: slog.New(slog.DiscardHandler)}
		if err == nil {
			_, err = Build(t.Context(), cfg, opts)
		} else {
			err = Mistakes(t.Context(), err, opts)
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
