package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// env is the environment of all tests here.
func env(name string) (string, bool) {
	v, ok := map[string]string{
		"KEY": "sk-canary-1", "TOKEN": "canary-token-2", "N": "7", "WORD": "seven", "EMPTY": "", "HOST": "shop.example.com",
	}[name]
	return v, ok
}

const model = "model: {provider: script, script: model.yaml}\n"

// wrongs are configurations with something wrong; the golden file has what
// is said of each.
func wrongs() [][2]string {
	return [][2]string{
		{"empty file", ""},
		{"only a comment", "# nothing\n"},
		{"not a mapping", "- a\n- b\n"},
		{"a scalar", "hello\n"},
		{"broken yaml", "server: {listen: 1\nbot: x\n"},
		{"tab indentation", "server:\n\tlisten: x\n"},
		{"unknown anchor", model + "bot: *nobody\n"},
		{"two documents", model + "---\nbot: {}\n"},
		{"unknown section", model + "servr: {listen: \":1\"}\n"},
		{"unknown section without a near one", model + "qqqqqqqq: 1\n"},
		{"unknown key", model + "server: {lisen: \"127.0.0.1:1\"}\n"},
		{"key with a dash", model + "server: {public-url: \"https://x.example\"}\n"},
		{"key in another case", model + "bot: {history: {maxMessages: 4, Tokens: 500}}\n"},
		{"duplicate key", model + "bot:\n  name: A\n  name: B\n"},
		{"duplicate section", model + "bot: {name: A}\nbot: {name: B}\n"},
		{"list instead of mapping", model + "server: [a]\n"},
		{"mapping instead of value", model + "bot: {name: {a: b}}\n"},
		{"value instead of list", model + "confirm: {yes: si}\n"},
		{"number in quotes", model + "loop: {max_steps: \"5\"}\n"},
		{"word for a number", model + "loop: {max_steps: five}\n"},
		{"number out of range", model + "limits: {workers: 99999999999999999999}\n"},
		{"yes is no boolean", model + "confirm: {buttons: yes}\n"},
		{"duration without a unit", model + "confirm: {timeout: 30}\n"},
		{"alerts to no channel", model + "alerts: {chat: \"telegram:12345\"}\nchannels: {web: {kind: webchat}}\n"},
		{"alerts to no chat", model + "alerts: {chat: web, after: 0s}\nchannels: {web: {kind: webchat}}\n"},
		{"negative duration", model + "loop: {tool_timeout: -5s}\n"},
		{"script limits", model + "limits: {script_memory: 1MiB, script_calls: 0}\n"},
		{"bad size", model + "limits: {message_bytes: huge}\n"},
		{"bad rate", model + "limits: {per_user: 20 per minute}\n"},
		{"several at once", model + "server: {listen: nowhere}\nloop: {max_steps: 0}\nlimits: {workers: 0, queue_per_chat: x}\n"},
		{"line break in a name", model + "bot: {name: \"A\\nB\"}\nalerts: {chat: \"web:x\\ty\"}\nchannels: {web: {kind: webchat, allow: [\"a\\u2028b\"]}}\n"},
		{"line break in what people are shown", model + "fetch: {allow: [h.example]}\ntools:\n  a:\n    title: |\n      Two\n      lines\n    description: |\n      two\n      lines\n    schema: {type: object, properties: {n: {type: string}}}\n    labels: {n: {x: \"\\e[31mred\"}}\n    http: {url: \"https://h.example\"}\nmcp: {servers: {m: {command: [sh, -c, \"a\\nb\"], allow: {r: {title: \"a\\rb\"}}}}}\n"},
		{"unset variable", model + "bot: {name: \"${NOBODY}\"}\n"},
		{"unset variable of a secret", "model: {provider: openai, name: m, api_key: \"${NOBODY}\"}\n"},
		{"open variable", model + "bot: {name: \"${KEY\"}\n"},
		{"no variable name", model + "bot: {name: \"${a-b}\"}\n"},
		{"variable of a wrong type", model + "loop: {max_steps: \"${WORD}\"}\n"},
		{"secret where none belongs", model + "loop: {tool_timeout: \"${TOKEN}\"}\nlog: {level: \"${TOKEN}\"}\n"},
		{"secret and its file", "model: {provider: openai, name: m, api_key: \"${KEY}\", api_key_file: key.txt}\n"},
		{"secret file missing", "model: {provider: openai, name: m, api_key_file: nokey.txt}\n"},
		{"secret file empty", "model: {provider: openai, name: m, api_key_file: empty.txt}\n"},
		{"secret file is a directory", "model: {provider: openai, name: m, api_key_file: dir}\n"},
		{"no model", "bot: {name: A}\n"},
		{"model without a provider", "model: {name: m}\n"},
		{"unknown provider", "model: {provider: opnai, name: m, api_key: x}\n"},
		{"provider of a later build", "model: {provider: gemini, name: m, api_key: x}\n"},
		{"model without name and key", "model: {provider: openai}\n"},
		{"preset without its address", "model: {provider: azure, name: m, api_key: x}\n"},
		{"script model without script", "model: {provider: script}\n"},
		{"script model's file missing", "model: {provider: script, script: no.yaml}\n"},
		{"wrong fallback", "model:\n  provider: script\n  script: model.yaml\n  fallback:\n    - {provider: groq, name: m}\n    - {provider: script, script: gone.yaml, fallback: [{provider: x}]}\n"},
		{"bad base_url", "model: {provider: openai, name: m, base_url: \"localhost:1234\"}\n"},
		{"bad store url", model + "store: {url: \"mysql://root:hunter2@db/x\"}\n"},
		{"a store of a later build", model + "store: {url: \"postgres://u:hunter2@db/x\"}\n"},
		{"postgres without database", model + "store: {url: \"postgres://u:hunter2@db\"}\n"},
		{"demo on a public address", model + "server: {listen: \"0.0.0.0:8080\"}\n"},
		{"bad public_url", model + "server: {public_url: bot.example.com}\n"},
		{"bad proxy", model + "server: {trusted_proxies: [10.0.0.0/8, proxy]}\n"},
		{"bad language", model + "bot: {lang: not a language}\n"},
		{"word in both lists", model + "confirm: {yes: [\"¡Sí!\"], no_add: [si]}\n"},
		{"answer_by", model + "confirm: {answer_by: everyone}\n"},
		{"log level", model + "log: {level: verbose}\n"},
		{"missing script", model + "tools: {scripts: [tools.ts, gone.ts]}\n"},
		{"scripts is no list", model + "tools: {scripts: tools.ts}\n"},
		{"tool without description", model + "fetch: {allow: [h.example]}\ntools:\n  a: {http: {url: \"https://h.example\"}}\n"},
		{"tool without a kind", model + "tools:\n  a: {description: d}\n"},
		{"tool name", model + "fetch: {allow: [h.example]}\ntools:\n  \"add order\": {description: d, http: {url: \"https://h.example\"}}\n"},
		{"sql tool", model + "tools:\n  a: {description: d, sql: {query: \"select 1\"}}\n"},
		{"sql source", model + "data:\n  shop: {url: \"sqlite://shop.db\"}\n  crm: {url: \"postgres://u:hunter2@h/x\"}\ntools:\n  a: {description: d, sql: {query: \"select 1\"}}\n  b: {description: d, sql: {query: \"select 1\", source: shp}}\n  c: {description: d, sql: {source: shop, bind: {a: user.email}, result: list}}\n"},
		{"data", model + "data:\n  a-b: {url: \"mysql://u:hunter2@h/x\", max_conns: -1}\n  lite: {url: \"sqlite://\"}\n  none: {}\n"},
		{"mcp server without a way", model + "mcp:\n  servers:\n    files:\n    shop: {url: \"ftp://canary.example\", allow: read}\n"},
		{"mcp server two ways", model + "mcp: {servers: {files: {command: [npx], url: \"https://h.example\", env: {A: b}, headers: {\"X Y\": \"hunter2\"}}}}\n"},
		{"mcp server's name and program", model + "mcp: {servers: {\"a b\": {command: []}, c: {command: npx, start_timeout: 0s}, d: {url: \"https://u:hunter2@h.example\"}}}\n"},
		{"mcp tools", model + "mcp:\n  servers:\n    files:\n      command: [npx]\n      allow:\n        read: {confirms: false, effect: safe, dedupe: always}\n        write: yes\n"},
		{"mcp tools twice", model + "mcp: {servers: {files: {command: [npx], allow: [read, read, \"\"]}}}\n"},
		{"tool field", model + "fetch: {allow: [h.example]}\ntools:\n  a: {description: d, confirmLines: \"x\", http: {url: \"https://h.example\", metod: GET}}\n"},
		{"tool values", model + "fetch: {allow: [h.example]}\ntools:\n  a:\n    description: d\n    dedupe: always\n    effect: safe\n    timeout: 5\n    http: {method: get, url: \"https://h.example\"}\n"},
		{"schema", model + "fetch: {allow: [h.example]}\ntools:\n  a: {description: d, schema: [1], http: {url: \"https://h.example\"}}\n  b: {description: d, schema: {type: string}, http: {url: \"https://h.example\"}}\n"},
		{"host not allowed", model + "fetch: {allow: [\"h.example:8443\", \"*.shop.example\"]}\ntools:\n  a: {description: d, http: {url: \"https://h.example/x\"}}\n  b: {description: d, http: {url: \"https://shop.example/\"}}\n"},
		{"placeholder in the host", model + "tools:\n  a: {description: d, http: {url: \"https://{h}.example/x\"}}\n"},
		{"credentials in a url", model + "fetch: {allow: [h.example]}\ntools:\n  a: {description: d, http: {url: \"https://u:hunter2@h.example/x\"}}\n"},
		{"bind", model + "fetch: {allow: [h.example]}\ntools:\n  a:\n    description: d\n    schema: {type: object, properties: {customer: {type: string}}}\n    labels: {custmer: {a: b}}\n    http: {url: \"https://h.example\", bind: {customer: user.id, who: user.email}}\n"},
		{"header", model + "fetch: {allow: [h.example]}\ntools:\n  a: {description: d, http: {url: \"https://h.example\", headers: {\"X Y\": \"hunter2\"}}}\n"},
		{"fetch.allow", model + "fetch: {allow: [\"https://h.example\", \"h:99999\", \"*\"]}\n"},
		{"confirm twice", model + "fetch: {allow: [h.example]}\ntools:\n  a: {description: d, confirm: true, confirm_when: \"args.n > 5\", http: {url: \"https://h.example\"}}\n"},
		{"audit", model + "audit: {redact: [card, args..x], redact_mode: hide, webhook: {url: \"https://a.example\"}}\n"},
		{"unknown channel kind", model + "channels: {telegram: {kind: telegran}}\n"},
		{"channel of a later build", model + "channels: {telegram: {token: x}}\n"},
		{"channel without a kind", model + "channels: {web: }\n"},
		{"channel name", model + "channels: {\"a b\": {kind: webchat}}\n"},
		{"everybody answered in spite of allow", model + "channels: {web: {kind: webchat, allow: [a], unknown: answer}}\n"},
		{"others ignored without allow", model + "channels: {web: {kind: webchat, unknown: ignore}}\n"},
		{"channel groups", model + "channels: {web: {kind: webchat, groups: {reply_to: always}, allow: me}}\n"},
		{"locale", model + "locale: {en: {ai: [x]}, \"no such\": {}}\n"},
		{"texts", model + "loop: {max_steps: 0}\nlocale:\n  en: {ai: {eror: x, error: \"{tool} failed\", tools: {confirm: \"\"}}}\n  en-us: {ai.error: x}\n  en-US: {ai.error: y}\n"},
		{"a built-in word turned round", model + "confirm: {no_add: [dale]}\n"},
		{"locale twice", model + "locale: {en: {ai: {error: x}, ai.error: y}}\n"},
		{"merge of a scalar", "x: &x 1\n" + model + "bot: {<<: *x}\n"},
		{"alias to itself", model + "bot: &b {name: *b}\n"},
		{"include missing", model + "include: [gone.yaml]\n"},
		{"include itself", model + "include: main.yaml\n"},
		{"error in an included file", model + "include: part.yaml\n"},
		{"custom tag", model + "bot: {name: !secret x}\n"},
		{"key is no text", model + "? [a, b]\n: c\n"},
		{"long key", model + strings.Repeat("k", 500) + ": 1\n"},
	}
}

func wrongFS(yaml string) fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"main.yaml": file(yaml), "model.yaml": file("rules: []\n"), "tools.ts": file("export const tools = {}\n"),
		"key.txt": file("sk-canary-1\n"), "empty.txt": file("\n"), "dir/x": file(""), "part.yaml": file("bot:\n  nme: x\n"),
	}
}

func TestLoad_WrongConfigs(t *testing.T) {
	t.Parallel()
	opts := Options{Env: env, ChannelKinds: []string{"webchat", "console"}, Providers: []string{"openai", "script", "groq", "azure"}, ToolKinds: []string{"script", "http", "sql", "mcp"}, Stores: []string{"sqlite"}}
	var got strings.Builder
	for _, w := range wrongs() {
		_, err := LoadFS(wrongFS(w[1]), "main.yaml", opts)
		if _, ok := errors.AsType[*Errors](err); !ok {
			t.Errorf("%s: want *Errors, got %v", w[0], err)
			continue
		}
		for _, canary := range []string{"canary", "hunter2", "seven"} {
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the message holds a secret: %v", w[0], err)
			}
		}
		for line := range strings.Lines(err.Error()) {
			if !regexp.MustCompile(` \[P1\d\d\d\]\n?$`).MatchString(line) {
				t.Errorf("%s: no id at the end of %q", w[0], line)
			}
		}
		fmt.Fprintf(&got, "== %s\n%v\n", w[0], err)
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
