package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/configs/starter"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
)

// initEnv has a value of the right form for each variable of the starter.
var initEnv = map[string]string{
	"TELEGRAM_TOKEN": "123456:AAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "DISCORD_TOKEN": "aaaa.bbbb.cccc",
	"WHATSAPP_PHONE_NUMBER_ID": "106540352242922", "WHATSAPP_WABA_ID": "102290129340398", "WHATSAPP_TOKEN": "token",
	"WHATSAPP_APP_SECRET": "secret", "WHATSAPP_VERIFY": "verify",
	"TWILIO_ACCOUNT_SID": "AC00000000000000000000000000000001", "TWILIO_AUTH_TOKEN": "aaaa", "TWILIO_FROM": "+15550002222",
	"OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key", "GEMINI_API_KEY": "key", "PUBLIC_URL": "https://bot.example.com",
}

// loadStarter does what check does, with env in the place of the process's
// environment, which tests that run at once can't each have.
func loadStarter(t *testing.T, dir string, env map[string]string) (*config.Config, error) {
	t.Helper()
	opts := app.Kinds()
	opts.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	cfg, err := config.Load(filepath.Join(dir, "parley.yaml"), opts)
	if err != nil {
		return nil, err
	}
	built, err := app.Build(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), In: strings.NewReader(""), Out: io.Discard})
	if err != nil {
		return nil, err
	}
	return cfg, built.Close(t.Context())
}

// Each channel with each model, and all channels at once: the file is valid
// once the variables that init named are set, and refers to no others.
func TestInit_EveryChoiceIsValid(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range offered() {
		names = append(names, c.Name)
	}
	for _, m := range starter.Models() {
		for _, places := range append(slices.Clone(names), "none", strings.Join(names, ",")) {
			t.Run(m.Name+" "+places, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "bot")
				code, out, errOut := runInit(t, "init", dir, "--channels", places, "--model", m.Name)
				if code != exitOK {
					t.Fatalf("init: %d %q", code, errOut)
				}
				env := map[string]string{}
				for _, match := range regexp.MustCompile(`(?m)^  export (\w+)=…    # \S`).FindAllStringSubmatch(out, -1) {
					env[match[1]] = initEnv[match[1]]
				}
				cfg, err := loadStarter(t, dir, env)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range cfg.Channels {
					got = append(got, c.Name)
				}
				want := strings.Split(strings.Replace(places, "none", "terminal", 1), ",")
				slices.Sort(got)
				slices.Sort(want)
				if diff := cmp.Diff(want, got); diff != "" || cfg.Model.Provider != m.Name {
					t.Errorf("model %s, channels %s", cfg.Model.Provider, diff)
				}
				_, err = os.Stat(filepath.Join(dir, "model.yaml"))
				if (err == nil) != (m.Name == "script") {
					t.Errorf("model.yaml: %v", err)
				}
				// None of the variables is named in vain.
				for name := range env {
					less := map[string]string{}
					for k, v := range env {
						if k != name {
							less[k] = v
						}
					}
					if _, err := loadStarter(t, dir, less); err == nil || !strings.Contains(err.Error(), name) {
						t.Errorf("without %s: %v", name, err)
					}
				}
			})
		}
	}
}

func TestInit_SaysWhatIsNext(t *testing.T) {
	t.Parallel()
	for places, want := range map[string][]string{
		"web":              {"parley check", "parley serve    # then open http://127.0.0.1:8080/chat/"},
		"none":             {"parley check", "parley chat"},
		"telegram":         {"export TELEGRAM_TOKEN=…", "parley check", "parley serve    # then write to the bot"},
		"twilio,telegram":  {"export TWILIO_FROM=…", "export TELEGRAM_TOKEN=…", "export PUBLIC_URL=…", "parley serve", "parley webhooks register sms "},
		"whatsapp,sms,web": {"export PUBLIC_URL=…", "parley serve    # then open", "parley webhooks register whatsapp sms "},
	} {
		_, out, _ := runInit(t, "init", filepath.Join(t.TempDir(), "bot"), "--channels", places)
		at := 0
		for _, line := range want {
			found := strings.Index(out[at:], "\n  "+line)
			if found < 0 {
				t.Errorf("%s: %q isn't in its place in\n%s", places, line, out)
				break
			}
			at += found + 1
		}
		if strings.Contains(out, "webhooks") != strings.Contains(strings.Join(want, ""), "webhooks") {
			t.Errorf("%s: %s", places, out)
		}
	}
}

func TestInit_LinkedDevicesAreOfTheFullBuild(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bot")
	code, out, errOut := runInit(t, "init", dir, "--channels", "whatsapp_web")
	if app.Slim {
		if code != exitUsage || !strings.Contains(errOut, `"whatsapp_web" isn't known`) || len(initTree(t, filepath.Dir(dir))) > 0 {
			t.Errorf("%d %s", code, errOut)
		}
	} else if code != exitOK || !strings.Contains(out, "\n  parley pair wa_web ") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}

func TestInit_WrongChoices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range [][]string{
		{"--channels", "telegramm", `"telegramm" isn't known: it is one of web, telegram, `},
		{"--channels", "web,none", "none goes with no other channel"},
		{"--channels", "9", `"9" isn't known`},
		{"--model", "gpt", `"gpt" isn't known: it is one of script, openai, `},
		{"--model", "openai,gemini", `"openai,gemini" is more than one`},
	} {
		code, out, errOut := runInit(t, append([]string{"init", dir}, tc[:2]...)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, tc[0]+": "+tc[2]) && !strings.Contains(errOut, tc[2]) {
			t.Errorf("%v: %d %q %q", tc, code, out, errOut)
		}
	}
	if got := initTree(t, dir); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}
