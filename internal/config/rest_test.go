package config

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is left of a configuration with mistakes is what doesn't depend on them.
func TestRest(t *testing.T) {
	t.Parallel()
	const text = `
bot: {name: Ana, lang: en}
channels: {web: {kind: webchat}, con: {kind: console, unknown: ignore}}
tools:
  scripts: [tools.ts, gone.ts]
  good: {description: d, http: {url: "https://h.example"}}
  bad: {description: d, http: {url: "https://other.example"}}
  kindless: {description: d}
  query: {description: d, sql: {query: select 1}}
`
	const fetch, data = "fetch: {allow: [h.example]}\n", "data: {shop: {url: \"sqlite://shop.db\"}}\n"
	for _, c := range []struct{ more, want string }{
		{model + fetch + data, "script, Ana, 10m0s, [tools.ts], [good query], [web]"},
		{model + fetch + data + "loop: {turn_deadline: 1h}\nlimits: {workers: 0}\n", "script, Ana, 1h0m0s, [tools.ts], [good query], [web]"},
		{model + fetch + data + "loop: {turn_deadline: 1h, max_steps: 0}\n", "script, Ana, 10m0s, [tools.ts], [good query], [web]"},
		{model + "fetch: {allow: [h.example, \"https://x\"]}\n" + data, "script, Ana, 10m0s, [tools.ts], [query], [web]"},
		{model + fetch + "data: {shop: {url: x}}\n", "script, Ana, 10m0s, [tools.ts], [good], [web]"},
		{"model: {provider: nobody, name: m}\n" + fetch + data, ", Ana, 10m0s, [tools.ts], [good query], [web]"},
		// A missing section is told at the top of the file, as is its first section.
		{fetch + data, ", parley, 10m0s, [tools.ts], [good query], [web]"},
	} {
		_, err := LoadFS(wrongFS("# first\n"+text+c.more), "main.yaml", Options{Env: env})
		rest := Rest(err)
		if _, ok := errors.AsType[*Errors](err); !ok || rest == nil {
			t.Fatalf("%q: %v", c.more, err)
		}
		if d := cmp.Diff(c.want, summary(rest)); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.more, d)
		}
	}
	_, err := LoadFS(wrongFS("tools:\n\ta: b\n"), "main.yaml", Options{Env: env})
	if _, ok := errors.AsType[*Errors](err); !ok || Rest(err) != nil {
		t.Errorf("of a file that can't be read: %v", err)
	}
}

func summary(c *Config) string {
	var tools, channels []string
	for _, t := range c.Tools.Named {
		tools = append(tools, t.Name)
	}
	for _, ch := range c.Channels {
		channels = append(channels, ch.Name)
	}
	return fmt.Sprintf("%s, %s, %s, %v, %v, %v", c.Model.Provider, c.Bot.Name, c.Loop.TurnDeadline, c.Tools.Scripts, tools, channels)
}
