package platforms

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels/telegram/telegramtest"
)

// program builds parley as its users have it.
func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "parley")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/parley")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// From an empty folder to a bot that answers on Telegram: init, check, serve.
// Only the platform's address is put in by hand.
func TestInit_TelegramBotInThreeCommands(t *testing.T) {
	t.Parallel()
	bin, dir := program(t), t.TempDir()
	fake := telegramtest.New(telegramtest.Options{Token: telegramtest.Token})
	t.Cleanup(fake.Close)
	began := time.Now()
	parley := func(args ...string) *exec.Cmd {
		// It is told to end when the test is over, which is after its context.
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TELEGRAM_TOKEN="+telegramtest.Token, "PARLEY_SERVER_LISTEN=127.0.0.1:0")
		return cmd
	}
	if out, err := parley("init", "--channels", "telegram").CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	path := filepath.Join(dir, "parley.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const key = "    token: ${TELEGRAM_TOKEN}"
	own := strings.Replace(string(text), key, "    api_url: "+fake.URL()+"\n"+key, 1)
	if own == string(text) {
		t.Fatalf("no token in\n%s", text)
	}
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := parley("check", "--live").CombinedOutput(); err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}
	serve := parley("serve")
	errOut, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	logged := make(chan string, 1)
	go func() {
		var log strings.Builder
		for s := bufio.NewScanner(errOut); s.Scan(); {
			log.WriteString(s.Text() + "\n")
		}
		logged <- log.String()
	}()
	t.Cleanup(func() {
		if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		log := <-logged
		if err := serve.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})

	ann := telegramtest.User{ID: 42, Name: "Ann", Lang: "en"}
	said := func(text string) func() bool {
		return func() bool {
			for _, m := range fake.Messages(ann.ID) {
				if strings.Contains(m.Text, text) {
					return true
				}
			}
			return false
		}
	}
	fake.Say(ann, "when are you open?", nil)
	if !until(t.Context(), said("Monday: 9:00 to 13:00")) {
		t.Fatalf("no answer: %+v", fake.Messages(ann.ID))
	}
	t.Logf("an empty folder to the first answer took %v", time.Since(began))
	fake.Say(ann, "call me on Tuesday afternoon about my bicycle", nil)
	if !until(t.Context(), func() bool {
		all := fake.Messages(ann.ID)
		return len(all[len(all)-1].Buttons) == 2
	}) {
		t.Fatalf("no question: %+v", fake.Messages(ann.ID))
	}
	question := fake.Messages(ann.ID)
	asked := question[len(question)-1]
	fake.Press(ann.ID, asked.ID, ann, asked.Buttons[0].Data)
	if !until(t.Context(), said("C-1: we'll call you on Tuesday afternoon")) {
		t.Errorf("nothing was done: %+v", fake.Messages(ann.ID))
	}
	if wrong := fake.Violations(); len(wrong) > 0 {
		t.Errorf("Telegram wouldn't take: %v", wrong)
	}
}
