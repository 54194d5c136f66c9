package platforms

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
)

// What the process below is told.
const (
	envConfig = "PARLEY_MEMORY_CONFIG"
	envServer = "PARLEY_MEMORY_SERVER"
	envKey    = "PARLEY_MEMORY_KEY"
)

// BenchmarkWhatsAppWeb_Memory measures the memory of a process that runs the
// whole bot with one WhatsApp session, connected and idle after some talk. The
// process is this one, started again: the SDK takes the servers' key from a
// variable, so that only a test binary can be connected to a fake.
//
//	go test ./e2e/platforms -run '^$' -bench Memory -benchtime 1x
func BenchmarkWhatsAppWeb_Memory(b *testing.B) {
	if os.Getenv(envConfig) != "" {
		if err := serveFor(os.Stdin, os.Stdout); err != nil {
			b.Fatal(err)
		}
		return
	}
	for b.Loop() {
		memory(b)
	}
}

// memory is one measurement.
func memory(b *testing.B) {
	b.Helper()
	fake := whatsappwebtest.New(whatsappwebtest.Config{})
	defer fake.Close()
	dir := b.TempDir()
	file := filepath.Join(dir, "parley.yaml")
	for path, text := range map[string]string{
		file: "store: {url: \"sqlite://" + dir + "/parley.db\"}\nserver: {listen: 127.0.0.1:0}\nmodel: {provider: script, script: model.yaml}\n" +
			"limits: {per_user: 1000/1m}\nbot: {name: bot}\nchannels: {wa: {kind: whatsapp_web}}\n",
		filepath.Join(dir, "model.yaml"): "rules:\n  - say: You said something.\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := link(b.Context(), fake, sessionIn(dir)); err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkWhatsAppWeb_Memory$", "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), envConfig+"="+file, envServer+"="+fake.Addr(), envKey+"="+hex.EncodeToString(whatsappwebtest.RootKey()))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if !fake.WaitActive() {
		b.Fatal("it never connected")
	}
	const people, each = 10, 10
	for n := range each {
		for w := range people {
			if !somebody(fake, person(w+1)).Say(fmt.Sprintf("M%d-%d", w, n), "hello").WaitAcked() {
				b.Fatal("a message was never taken")
			}
		}
	}
	for w := range people {
		if _, ok := somebody(fake, person(w+1)).WaitShown(each); !ok {
			b.Fatal("an answer never came")
		}
	}
	lines := bufio.NewScanner(out)
	ask := func(name string) {
		if _, err := fmt.Fprintln(in, "measure"); err != nil {
			b.Fatal(err)
		}
		for lines.Scan() {
			if rss, ok := strings.CutPrefix(lines.Text(), "RSS "); ok {
				kib, err := strconv.Atoi(rss)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(kib)/1024, name)
				return
			}
		}
		b.Fatal("it never said")
	}
	ask("MiB-after-talk")
	after(20 * time.Second) // the daemon gives back what it doesn't need
	ask("MiB-idle")
	if err := errors.Join(in.Close(), drain(lines), cmd.Wait()); err != nil {
		b.Error(err)
	}
}

func drain(s *bufio.Scanner) error {
	for s.Scan() {
		continue // what is said at the end isn't wanted
	}
	return s.Err()
}

// serveFor runs the bot until in ends, and tells its memory at each line.
func serveFor(in io.Reader, out io.Writer) error {
	key, err := hex.DecodeString(os.Getenv(envKey))
	if err != nil {
		return err
	}
	whatsappwebtest.TrustKey(key)
	ctx := context.Background()
	cfg, err := config.Load(os.Getenv(envConfig), app.Kinds())
	if err != nil {
		return err
	}
	built, err := app.Build(ctx, cfg, app.Options{
		Version: "test", Log: slog.New(slog.DiscardHandler), GiveBack: true,
		Transport: whatsappwebtest.TransportTo(os.Getenv(envServer)),
	})
	if err != nil {
		return err
	}
	a, err := app.New(ctx, built, true)
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		rss, err := resident()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "\nRSS", rss); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return a.Stop(ctx)
}

// resident is the memory of this process in KiB.
func resident() (string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", fmt.Errorf("only Linux tells: %w", err)
	}
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "VmRSS:" {
			return string(f[1]), nil
		}
	}
	return "", errors.New("the system doesn't tell the process's memory")
}
