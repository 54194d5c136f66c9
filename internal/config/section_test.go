package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/secret"
)

// account is what an adapter's own configuration looks like.
type account struct {
	Token   secret.String     `yaml:"token" config:"required"`
	Mode    string            `yaml:"mode" config:"oneof=webhook|polling"`
	Poll    time.Duration     `yaml:"poll"`
	Origins []string          `yaml:"origins"`
	Names   map[string]string `yaml:"names"`
	Nested  struct {
		Key secret.String `yaml:"key"`
	} `yaml:"nested"`
	Base `yaml:",inline"`
	err  error
}

// Base is inlined.
type Base struct {
	APIURL string `yaml:"api_url"`
}

func (a *account) Validate() error { return a.err }

type keyed struct{ key string }

func (k keyed) Error() string { return "is wrong" }
func (k keyed) Key() string   { return k.key }

func TestChannel_Decode(t *testing.T) {
	t.Parallel()
	cfg := loadText(t, model+`channels:
  web:
    kind: webchat
    allow: [a]
    token: ${TOKEN}
    api_url: "https://${HOST}"
    origins: [https://a.example]
    names: {Ana: "${N}"}
    nested: {key_file: key.txt}
`)
	got := account{Mode: "polling", Poll: time.Second}
	if err := cfg.Channels[0].Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := account{
		Token: secret.New("canary-token-2"), Mode: "polling", Poll: time.Second, Origins: []string{"https://a.example"},
		Names: map[string]string{"Ana": "7"}, Base: Base{APIURL: "https://shop.example.com"},
	}
	want.Nested.Key = secret.New("sk-canary-1")
	if d := cmp.Diff(want, got, cmp.AllowUnexported(account{}, secret.String{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestChannel_DecodeErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		yaml string
		err  error
		want string
	}{
		"everything": {
			yaml: "{kind: webchat, tokn: x, mode: pull, poll: 3, nested: {kee: 1}}",
			want: `main.yaml:2:17: channels.web.token is missing (or token_file) [P1103]
main.yaml:2:33: unknown key "tokn" in channels.web; did you mean "token"? (allowed: api_url, mode, names, nested, origins, poll, token, token_file) [P1101]
main.yaml:2:48: channels.web.mode: "pull" is not allowed (allowed: polling, webhook) [P1104]
main.yaml:2:60: channels.web.poll: "3" is not a duration such as 30s, 2m or 24h [P1102]
main.yaml:2:72: unknown key "kee" in channels.web.nested; did you mean "key"? (allowed: key, key_file) [P1101]`,
		},
		"unset":      {yaml: "{kind: webchat, token: \"${GONE}\"}", want: "main.yaml:2:40: channels.web.token: environment variable GONE is not set; set it, or give a default as ${GONE:-…} [P1106]"},
		"null token": {yaml: "{kind: webchat, token: }", want: "main.yaml:2:33: channels.web.token has no value [P1103]"},
		"validate": {
			yaml: "{kind: webchat, token: x, nested: {key: y}}", err: errors.Join(keyed{"nested.key"}, errors.New("no good")),
			want: "main.yaml:2:12: channels.web: no good [P1401]\nmain.yaml:2:52: channels.web.nested.key: is wrong [P1401]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := loadText(t, model+"channels: {web: "+tc.yaml+"}\n")
			err := cfg.Channels[0].Decode(&account{err: tc.err})
			if err == nil {
				t.Fatal("no error")
			}
			if d := cmp.Diff(strings.Split(tc.want, "\n"), strings.Split(err.Error(), "\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestSection_Absent(t *testing.T) {
	t.Parallel()
	var s Section
	got := account{Mode: "webhook"}
	if s.Given() {
		t.Error("an absent section is given")
	}
	if err := s.Decode(&got); err == nil || !strings.Contains(err.Error(), "token is missing") {
		t.Errorf("got %v", err)
	}
	if err := s.Decode(got); err == nil {
		t.Error("a struct by value was taken")
	}
}

// FuzzLoad: whatever the file, Load answers with a configuration or with an
// *Errors of bounded length, and never shows what the environment holds.
func FuzzLoad(f *testing.F) {
	for _, w := range wrongs() {
		f.Add(w[1])
	}
	f.Add(model + "a: &a {<<: *a}\n")
	f.Add("include: [main.yaml, \"*\"]\n")
	f.Add("? {a: 1}\n: b\n")
	f.Add("!!binary aGk=: x\n")
	f.Add("model: {provider: script, script: /dev/zero, api_key_file: ..}\n")
	f.Fuzz(func(t *testing.T, yaml string) {
		cfg, err := LoadFS(wrongFS(yaml), "main.yaml", Options{Env: env})
		if (cfg == nil) == (err == nil) {
			t.Fatalf("config %v and error %v", cfg, err)
		}
		if err == nil {
			for _, ch := range cfg.Channels {
				_ = ch.Decode(&account{})
			}
			return
		}
		if strings.Contains(err.Error(), "canary") && !strings.Contains(yaml, "canary") {
			t.Errorf("a secret shows: %v", err)
		}
		if many, ok := errors.AsType[*Errors](err); ok && len(many.List) > tree.MaxErrors {
			t.Errorf("%d errors", len(many.List))
		}
	})
}
