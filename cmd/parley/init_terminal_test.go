//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo terminal: what a person sees and types at, and
// what the program has for its input and output.
func openTerminal(t *testing.T) (at *person, program *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	at = &person{File: os.NewFile(uintptr(fd), "ptmx")}
	t.Cleanup(func() { _ = at.Close() })
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return at, program
}

// person sits at a terminal. What was shown and not looked at yet stays for
// the next look.
type person struct {
	*os.File
	seen string
}

// until reads what the terminal shows up to and with text.
func (p *person) until(t *testing.T, text string) string {
	t.Helper()
	part := make([]byte, 4096)
	for {
		if before, after, ok := strings.Cut(p.seen, text); ok {
			p.seen = after
			return before + text
		}
		n, err := p.Read(part)
		p.seen += string(part[:n])
		if err != nil {
			t.Fatalf("%v before %q came:\n%s", err, text, p.seen)
		}
	}
}

func TestInit_AsksAtATerminal(t *testing.T) {
	t.Parallel()
	ann, program := openTerminal(t)
	dir := filepath.Join(t.TempDir(), "bot")
	code := make(chan int, 1)
	go func() { code <- run(t.Context(), []string{"init", dir}, program, program, program) }()

	if shown := ann.until(t, "several, with commas [web]: "); !strings.Contains(shown, "2  telegram") || !strings.Contains(shown, "none") {
		t.Errorf("the first question:\n%s", shown)
	}
	fmt.Fprintln(ann, "telegramm")
	ann.until(t, `"telegramm" isn't known`)
	ann.until(t, "[web]: ")
	fmt.Fprintln(ann, "2, web")
	if shown := ann.until(t, "[script]: "); !strings.Contains(shown, "anthropic") {
		t.Errorf("the second question:\n%s", shown)
	}
	fmt.Fprintln(ann, "anthropic")
	shown := ann.until(t, "parley serve")
	if got := <-code; got != exitOK {
		t.Fatalf("exit %d", got)
	}
	for _, name := range []string{"TELEGRAM_TOKEN", "ANTHROPIC_API_KEY"} {
		if !strings.Contains(shown, "export "+name+"=…") {
			t.Errorf("%s isn't named:\n%s", name, shown)
		}
	}
	cfg, err := loadStarter(t, dir, initEnv)
	if err != nil || len(cfg.Channels) != 2 || cfg.Model.Provider != "anthropic" {
		t.Errorf("%v, %+v", err, cfg)
	}
}

// Neither the end of the input nor Ctrl-C leaves anything, and a folder that
// is taken is refused before the first question.
func TestInit_UnansweredWritesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*person, context.CancelFunc){
		"end of input": func(ann *person, _ context.CancelFunc) { fmt.Fprint(ann, "\x04") },
		"interrupted":  func(_ *person, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ann, program := openTerminal(t)
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			code := make(chan int, 1)
			go func() { code <- run(ctx, []string{"init", filepath.Join(dir, "bot")}, program, program, program) }()
			ann.until(t, "[web]: ")
			end(ann, cancel)
			ann.until(t, errNoAnswer.Error())
			if got := <-code; got != exitFailure {
				t.Errorf("exit %d, want %d", got, exitFailure)
			}
			if got := initTree(t, dir); len(got) > 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
	t.Run("taken", func(t *testing.T) {
		t.Parallel()
		_, program := openTerminal(t)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if code := run(t.Context(), []string{"init", dir}, program, program, program); code != exitUsage {
			t.Errorf("exit %d, want %d", code, exitUsage)
		}
	})
}
