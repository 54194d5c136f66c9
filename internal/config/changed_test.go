package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	const base = "server: {listen: \"127.0.0.1:1\", trusted_proxies: [10.0.0.1]}\nchannels: {web: {kind: webchat, allow: [a, b]}, sms: {kind: twilio, auth_token: \"${TOKEN}\"}}\ntools: {scripts: [tools.ts]}\n"
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"nothing":           {base, nil},
		"only the place":    {"# a comment\n\n" + base, nil},
		"order of keys":     {"channels: {sms: {auth_token: \"${TOKEN}\", kind: twilio}, web: {allow: [a, b], kind: webchat}}\ntools: {scripts: [tools.ts]}\nserver: {trusted_proxies: [10.0.0.1], listen: \"127.0.0.1:1\"}\n", nil},
		"a value":           {base + "bot: {name: Ana}\n", []string{"bot.name"}},
		"a secret":          {base + "store: {url: \"sqlite://x.db\"}\n", []string{"store.url"}},
		"nested":            {base + "bot: {history: {tokens: 900}}\naudit: {webhook: {url: \"https://a.example\", secret: x}}\n", []string{"audit.webhook", "bot.history"}},
		"gone":              {"server: {listen: \"127.0.0.1:1\"}\n", []string{"channels.sms", "channels.web", "server.trusted_proxies", "tools"}},
		"a channel's list":  {base[:len(base)-len("tools: {scripts: [tools.ts]}\n")] + "x-z: 1\n", []string{"tools"}},
		"names of ones own": {base + "secrets: {a: b}\nlocale: {en: {ai.error: x}}\nfetch: {allow: [h.example]}\n", []string{"fetch.allow", "locale", "secrets"}},
	} {
		got := Changed(loadText(t, model+base), loadText(t, model+tc.yaml))
		slices.Sort(got)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
