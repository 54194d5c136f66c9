package config

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
)

// What isn't written is the careful thing: each tool asks, and is unsafe.
func TestLoad_E4_MCPServers(t *testing.T) {
	t.Parallel()
	const doc = model + `
mcp:
  servers:
    files:
      command: [npx, "@scope/server", "${HOST}"]
      env: {API_TOKEN: "${TOKEN}"}
      dir: work
      allow:
        read_file: {confirm: false, effect: read, title: Read, timeout: 5s, labels: {mode: {r: reading}}}
        write_file:
    shop:
      url: https://shop.example/mcp?key=${KEY}
      headers: {Authorization: "Bearer ${TOKEN}"}
      start_timeout: 5s
      allow: [buy, Look]
`
	cfg, err := LoadFS(fstest.MapFS{"etc/main.yaml": {Data: []byte(doc)}, "etc/model.yaml": {}}, "etc/main.yaml", Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	five := 5 * time.Second
	want := MCPServers{
		{
			Name: "files", Command: []string{"npx", "@scope/server", "shop.example.com"}, Env: map[string]secret.String{"API_TOKEN": secret.New("canary-token-2")},
			Dir: "etc/work", StartTimeout: 30 * time.Second,
			Allow: MCPAllow{
				{Name: "read_file", Title: "Read", Effect: "read", Timeout: &five, Labels: map[string]map[string]string{"mode": {"r": "reading"}}},
				{Name: "write_file", Confirm: true},
			},
		},
		{
			Name: "shop", URL: secret.New("https://shop.example/mcp?key=sk-canary-1"), Headers: map[string]secret.String{"Authorization": secret.New("Bearer canary-token-2")},
			StartTimeout: five, Allow: MCPAllow{{Name: "buy", Confirm: true}, {Name: "Look", Confirm: true}},
		},
	}
	if d := cmp.Diff(want, cfg.MCP.Servers, cmp.AllowUnexported(secret.String{}), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".Pos"
	}, cmp.Ignore())); d != "" {
		t.Errorf("servers (-want +got):\n%s", d)
	}
}
