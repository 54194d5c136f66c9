package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/secret"
)

// load reads yaml as main.yaml of the test's tree.
func loadText(t *testing.T, yaml string) *Config {
	t.Helper()
	cfg, err := LoadFS(wrongFS(yaml), "main.yaml", Options{Env: env})
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return cfg
}

func TestLoad_Defaults(t *testing.T) {
	t.Parallel()
	cfg := loadText(t, model)
	want := defaults()
	want.Source, want.Demo = "main.yaml", true
	want.Model = Model{Provider: "script", Script: "model.yaml", Timeout: 30 * time.Second, Deadline: 30 * time.Second, MaxTokens: 1024}
	if d := cmp.Diff(want, cfg, cmp.AllowUnexported(secret.String{}), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".src"
	}, cmp.Ignore())); d != "" {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
}

func TestLoad_Everything(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg := loadText(t, string(data))
	type line struct{ Got, Want any }
	for name, l := range map[string]line{
		"listen":        {cfg.Server.Listen, "[::1]:9000"},
		"public_url":    {cfg.Server.PublicURL, "https://bot.example.com"},
		"proxies":       {fmt.Sprint(cfg.Server.Proxies()), "[127.0.0.1/32 10.0.0.0/8]"},
		"admin_token":   {cfg.Server.AdminToken.Reveal(), "canary-token-2"},
		"store":         {cfg.Store.URL.Reveal(), "postgres://u:canary-token-2@db/parley"},
		"stream":        {cfg.Bot.Stream, false},
		"persona":       {cfg.Bot.Persona, "Costs ${PRICE}.\n"},
		"lang":          {cfg.Bot.Lang, "no"},
		"timeout":       {cfg.Model.Timeout, 45 * time.Second},
		"api_key":       {cfg.Model.APIKey.Reveal(), "sk-canary-1"},
		"fallback":      {cfg.Model.Fallback[0].Deadline, 30 * time.Second},
		"max_steps":     {cfg.Loop.MaxSteps, 7},
		"tool_timeout":  {cfg.Loop.ToolTimeout, time.Duration(0)},
		"answer_by":     {cfg.Confirm.AnswerBy, AnswerBy{Who: Listed, Users: []string{"1", "ana"}}},
		"system_note":   {cfg.Confirm.SystemNote, SystemNote{On: true, Text: "Ask ${NOTHING}."}},
		"yes":           {cfg.Confirm.Yes, []string{"si", "1", "yes"}},
		"scripts":       {cfg.Tools.Scripts, []string{"tools.ts"}},
		"tool names":    {[]string{cfg.Tools.Named[0].Name, cfg.Tools.Named[1].Name}, []string{"placeOrder", "show_menu"}},
		"labels":        {cfg.Tools.Named[0].Labels["Product"]["RYE"], "Rye bread"},
		"schema":        {string(cfg.Tools.Named[0].Schema), `{"type":"object","properties":{"Product":{"type":"string","enum":["RYE","${X}"]},"n":{"maximum":12345678901234567890,"minimum":0.50}}}`},
		"dedupe":        {time.Duration(cfg.Tools.Named[0].Dedupe), time.Minute},
		"dedupe args":   {time.Duration(cfg.Tools.Named[1].Dedupe), 10 * time.Minute},
		"tool timeout":  {*cfg.Tools.Named[0].Timeout, time.Duration(0)},
		"no timeout":    {cfg.Tools.Named[1].Timeout, (*time.Duration)(nil)},
		"confirm_when":  {cfg.Tools.Named[0].ConfirmWhen.Text, "`${args.n}` > 5"},
		"url":           {cfg.Tools.Named[0].HTTP.URL, "https://shop.example.com/orders"},
		"header":        {cfg.Tools.Named[0].HTTP.Headers["X-Api-Key"].Reveal(), "sk-canary-1"},
		"header file":   {cfg.Tools.Named[0].HTTP.Headers["X-Other"].Reveal(), "sk-canary-1"},
		"per_user":      {cfg.Limits.PerUser, Rate{N: 5, Per: time.Second}},
		"message_bytes": {cfg.Limits.MessageBytes, Size(32 << 10)},
		"script_memory": {cfg.Limits.ScriptMemory, Size(32 << 20)},
		"script_calls":  {cfg.Limits.ScriptCalls, 4},
		"locale":        {cfg.Locale["en"]["ai.tools.confirm"], "Run ${tool}?{args}"},
		"locale case":   {cfg.Locale["es-CO"]["ai.error"], "Uy"},
		"redact":        {cfg.Audit.Redact, []string{"args.card", "args.items.*.note"}},
		"secrets":       {cfg.Secrets["shopKey"].Reveal(), "sk-canary-1"},
		"kind":          {cfg.Channels[0].Kind, "webchat"},
		"channel order": {[]string{cfg.Channels[0].Name, cfg.Channels[1].Name, cfg.Channels[2].Name}, []string{"web", "Telegram2", "console"}},
		"allow":         {cfg.Channels[0].Allow == nil, true},
		"allow empty":   {cfg.Channels[1].Allow != nil && len(cfg.Channels[1].Allow) == 0, true},
		"groups":        {cfg.Channels[1].Groups, Groups{ReplyTo: "all", Session: "user"}},
	} {
		if d := cmp.Diff(l.Want, l.Got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// An emoji is a word of an answer.
func TestLoad_B3_EmojiAsAnswers(t *testing.T) {
	t.Parallel()
	const model = "model: {provider: openai, name: m, api_key: k}\nchannels: {web: {kind: webchat}}\n"
	cfg := loadText(t, model+"confirm: {yes_add: [\"👍\"], no_add: [\"👎\"]}\n")
	if len(cfg.Confirm.YesAdd) != 1 || len(cfg.Confirm.NoAdd) != 1 {
		t.Errorf("%+v", cfg.Confirm)
	}
	for _, wrong := range []string{"confirm: {yes_add: [\"👍\"], no_add: [\"👍\"]}\n", "confirm: {yes_add: [\"…\"]}\n"} {
		if _, err := LoadFS(wrongFS(model+wrong), "main.yaml", Options{Env: env}); err == nil {
			t.Errorf("taken: %s", wrong)
		}
	}
}

func TestLoad_SecretsStayMasked(t *testing.T) {
	t.Parallel()
	cfg := loadText(t, "model: {provider: openai, name: m, api_key: \"${KEY}\"}\n")
	out, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{string(out), fmt.Sprintf("%v %+v %#v", cfg.Model, cfg.Model, cfg.Model.APIKey)} {
		if strings.Contains(s, "canary") {
			t.Errorf("a secret shows: %s", s)
		}
	}
}

func TestLoad_MergeKeys(t *testing.T) {
	t.Parallel()
	cfg := loadText(t, `
x-tool: &tool {description: d, confirm: true, effect: unsafe, http: {url: "https://shop.example.com/a"}}
x-more: &more {effect: read, title: T}
x-name: &name Ana
`+model+`
bot: {name: *name}
fetch: {allow: [shop.example.com]}
tools:
  a: {<<: *tool, confirm: false}
  b: {title: B, <<: [*more, *tool]}
`)
	a, b := cfg.Tools.Named[0], cfg.Tools.Named[1]
	if a.Confirm || a.Effect != "unsafe" || a.Description != "d" {
		t.Errorf("a: %+v", a)
	}
	if b.Title != "B" || b.Effect != "read" || !b.Confirm {
		t.Errorf("b: %+v", b)
	}
	if cfg.Bot.Name != "Ana" {
		t.Errorf("alias: %q", cfg.Bot.Name)
	}
}

func TestLoad_Include(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"etc/main.yaml":    {Data: []byte("include: [base.yaml, conf.d/*.yaml]\nbot: {name: Main}\n")},
		"etc/base.yaml":    {Data: []byte("bot: {name: Base, lang: es}\nmodel: {provider: script, script: model.yaml}\ntools: {scripts: [t.ts]}\n")},
		"etc/conf.d/1.yml": {Data: []byte("no: good\n")},
		"etc/conf.d/a.yaml": {Data: []byte(
			"bot: {name: A, persona: A}\nchannels: {web: {kind: webchat}}\ntools: {scripts: [t.ts]}\n")},
		"etc/conf.d/t.ts": {}, "etc/t.ts": {}, "etc/model.yaml": {},
	}
	cfg, err := LoadFS(tree, "etc/main.yaml", Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Bot.Name != "Main" || cfg.Bot.Lang != "es" || cfg.Bot.Persona != "A" {
		t.Errorf("bot: %+v", cfg.Bot)
	}
	// A path is relative to the file that has it; lists are replaced whole.
	if d := cmp.Diff([]string{"etc/conf.d/t.ts"}, cfg.Tools.Scripts); d != "" {
		t.Error(d)
	}
	if cfg.Model.Script != "etc/model.yaml" || len(cfg.Channels) != 1 {
		t.Errorf("script %q, channels %d", cfg.Model.Script, len(cfg.Channels))
	}
}

func TestLoad_FromDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("parley.yaml", "model: {provider: openai, name: m, api_key_file: key}\nserver: {listen: \"0.0.0.0:80\"}\ntools: {scripts: [t.ts]}\n")
	write("key", "sk-canary-1\r\n")
	write("t.ts", "x")
	cfg, err := Load(filepath.Join(dir, "parley.yaml"), Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Model.APIKey.Reveal(); got != "sk-canary-1" {
		t.Errorf("key: %q", got)
	}
	if cfg.Demo || cfg.FS() != nil {
		t.Error("a file on disk is no demo")
	}
	if data, err := cfg.ReadFile(cfg.Tools.Scripts[0], 10); err != nil || string(data) != "x" {
		t.Errorf("script: %q %v", data, err)
	}
	if _, err := Load(filepath.Join(dir, "gone.yaml"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	write("big.yaml", "# "+strings.Repeat("x", tree.MaxFileBytes))
	if _, err := Load(filepath.Join(dir, "big.yaml"), Options{}); err == nil || !strings.Contains(err.Error(), "larger than 1.0MiB") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestLoad_AliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(model + "x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "x-%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	deep := model + "x-1: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n"
	for _, yaml := range []string{b.String(), deep} {
		_, err := LoadFS(wrongFS(yaml), "main.yaml", Options{Env: env})
		if err == nil || !strings.Contains(err.Error(), "too large or too deep") {
			t.Errorf("got %v", err)
		}
	}
}

func TestLoad_ManyErrorsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	_, err := LoadFS(wrongFS(model+b.String()), "main.yaml", Options{Env: env})
	all, ok := errors.AsType[*Errors](err)
	if !ok || len(all.List) != tree.MaxErrors || all.More != 400 {
		t.Errorf("got %d and %d more", len(all.List), all.More)
	}
}

// Environment and flags are the process's own, so this test can't be parallel.
func TestLoad_Override(t *testing.T) {
	for k, v := range map[string]string{
		"PARLEY_SERVER_LISTEN": "127.0.0.1:1111", "PARLEY_LOOP_MAX_STEPS": "9", "PARLEY_LOG_LEVEL": "debug",
		"PARLEY_MODEL_API_KEY": "${sk}", "PARLEY_BOT_HISTORY_TOKENS": "999", "PARLEY_BOT_NAME": "",
		"PARLEY_CONFIRM_SYSTEM_NOTE": "false", "PARLEY_LIMITS_MESSAGE_BYTES": "1KiB", "PARLEY_CONFIRM_ANSWER_BY": "anyone",
	} {
		t.Setenv(k, v)
	}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.String("listen", "127.0.0.1:3333", "")
	flags.String("log-level", "info", "")
	yaml := "model: {provider: openai, name: m, api_key_file: gone}\nbot: {name: Ana}\n"
	load := func() *Config {
		cfg, err := LoadFS(wrongFS(yaml), "main.yaml", Options{Env: env, Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := load()
	if cfg.Server.Listen != "127.0.0.1:1111" || cfg.Loop.MaxSteps != 9 || cfg.Log.Level != "debug" ||
		cfg.Model.APIKey.Reveal() != "${sk}" || cfg.Bot.History.Tokens != 999 || cfg.Bot.Name != "Ana" ||
		cfg.Limits.MessageBytes != 1<<10 || cfg.Confirm.AnswerBy.Who != Anyone {
		t.Errorf("environment: %+v", cfg)
	}
	if cfg.Confirm.SystemNote.On {
		t.Error("PARLEY_CONFIRM_SYSTEM_NOTE=false is a text, not off")
	}
	if err := flags.Parse([]string{"--listen", "127.0.0.1:2222", "--log-level=warn"}); err != nil {
		t.Fatal(err)
	}
	if cfg := load(); cfg.Server.Listen != "127.0.0.1:2222" || cfg.Log.Level != "warn" {
		t.Errorf("a flag must win: %+v %+v", cfg.Server, cfg.Log)
	}
	t.Setenv("PARLEY_LOOP_MAX_STEPS", "sk-canary")
	flags = pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.String("listen", "", "")
	if err := flags.Parse([]string{"--listen=nowhere"}); err != nil {
		t.Fatal(err)
	}
	_, err := LoadFS(wrongFS(yaml), "main.yaml", Options{Env: env, Flags: flags})
	want := []string{"environment PARLEY_LOOP_MAX_STEPS: loop.max_steps: the value is not a whole number", "flag --listen: server.listen: must be host:port"}
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("want %q in:\n%v", w, err)
		}
	}
}

// An expression is told with the place of its own lines.
func TestLoad_PlacesOfExpressions(t *testing.T) {
	t.Parallel()
	cfg := loadText(t, model+`fetch: {allow: [h.example]}
tools:
  a:
    description: d
    confirm_when: args.n > 5
    confirm_lines: |

      [args.a,
        args.b]
    confirm_message: "x y"
    http: {url: "https://h.example"}
`)
	a := cfg.Tools.Named[0]
	for name, tc := range map[string]struct{ got, want string }{
		"plain":        {a.ConfirmWhen.Place(1, 6).String(), "parley.yaml:6:24"},
		"block":        {a.ConfirmLines.Place(3, 5).String(), "parley.yaml:10:11"},
		"quoted":       {a.ConfirmMessage.Place(1, 3).String(), "parley.yaml:11:25"},
		"plain itself": {a.ConfirmWhen.At.String(), "parley.yaml:6:19"},
	} {
		if !strings.HasSuffix(tc.got, tc.want[len("parley.yaml"):]) {
			t.Errorf("%s: %s, want %s", name, tc.got, tc.want)
		}
	}
}
