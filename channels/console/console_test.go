package console_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/console"
)

type sinkFunc func(ctx context.Context, in channels.Inbound) error

func (f sinkFunc) Accept(ctx context.Context, in channels.Inbound) error { return f(ctx, in) }

// screen is what was written, for many goroutines.
type screen struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	writes int
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func (s *screen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func newConsole(t *testing.T, cfg console.Config) *console.Adapter {
	t.Helper()
	a, err := console.New(cfg, console.Deps{Name: "console"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Setup{
		NoAck: true, NoRedelivery: true,
		New: func(t *testing.T) channeltest.Case {
			in, typed := io.Pipe()
			out := &screen{}
			return channeltest.Case{
				Adapter: newConsole(t, console.Config{In: in, Out: out}),
				Chat:    channels.Chat{ID: console.ChatID},
				Deliver: func(t *testing.T, _, text string) bool {
					if _, err := io.WriteString(typed, text+"\n"); err != nil {
						t.Error(err)
					}
					return true
				},
				Calls: out.count,
				Shown: func() []string { return []string{strings.ReplaceAll(out.String(), "\n     ", "\n")} },
			}
		},
	})
}

// run gives all of input and returns what was accepted and Run's error.
func run(t *testing.T, cfg console.Config, accept func(*console.Adapter, channels.Inbound) error) ([]channels.Inbound, error) {
	t.Helper()
	a := newConsole(t, cfg)
	var got []channels.Inbound
	err := a.Run(t.Context(), sinkFunc(func(_ context.Context, in channels.Inbound) error {
		got = append(got, in)
		if accept != nil {
			return accept(a, in)
		}
		return nil
	}))
	select {
	case <-a.Done():
		if err != nil {
			t.Errorf("done, though Run failed: %v", err)
		}
	default:
		if err == nil {
			t.Error("the input ended and Done is open")
		}
	}
	return got, err
}

func TestRun_Lines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		input string
		want  []string
	}{
		"two":              {"hi\nyes\n", []string{"hi", "yes"}},
		"last without end": {"hi\nyes", []string{"hi", "yes"}},
		"carriage returns": {"hi\r\nyes\r\n", []string{"hi", "yes"}},
		"blank ones":       {"\n  \nhi\n\n", []string{"hi"}},
		"nothing":          {"", nil},
		"not utf-8":        {"caf\xe9\n", []string{"caf\uFFFD"}},
		"as long as fits":  {strings.Repeat("x", 1<<20) + "\n", []string{strings.Repeat("x", 1<<20)}},
		"too long":         {strings.Repeat("x", 1<<20+1) + "\nhi\n", []string{"hi"}},
		"spaces are kept":  {"  hi  \n", []string{"  hi  "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, console.Config{In: strings.NewReader(tc.input), Out: io.Discard}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			ids := map[channels.MessageID]bool{}
			for _, in := range got {
				texts = append(texts, in.Text)
				ids[in.ID] = true
			}
			if diff := cmp.Diff(tc.want, texts); diff != "" || len(ids) != len(texts) {
				t.Errorf("%d ids; texts (-want +got):\n%.500s", len(ids), diff)
			}
		})
	}
}

func TestRun_IDsDifferBetweenProcesses_G1(t *testing.T) {
	t.Parallel()
	var ids []channels.MessageID
	for range 2 {
		got, err := run(t, console.Config{In: strings.NewReader("hi\n"), Out: io.Discard}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, got[0].ID)
	}
	if ids[0] == ids[1] {
		t.Errorf("two runs gave a message the same id %q", ids[0])
	}
}

// Turn lets a pipe hold a conversation: each line waits for the answer to the
// one before.
func TestRun_TurnPacesAPipe(t *testing.T) {
	t.Parallel()
	out := &screen{}
	owed := 0 // replies that the bot still has to give
	var a *console.Adapter
	reply := func(ctx context.Context) error {
		for ; owed > 0; owed-- {
			if _, err := a.Send(ctx, channels.Part{Text: "answer\nin two lines"}); err != nil {
				return err
			}
		}
		return nil
	}
	a = newConsole(t, console.Config{In: strings.NewReader("hi\nyes\n"), Out: out, Turn: reply})
	err := a.Run(t.Context(), sinkFunc(func(_ context.Context, in channels.Inbound) error {
		if owed != 0 {
			t.Errorf("%q was handed on before the answer came", in.Text)
		}
		owed++
		return nil
	}))
	want := "bot> answer\n     in two lines\nbot> answer\n     in two lines\n"
	if err != nil || out.String() != want {
		t.Errorf("Run = %v, printed %q, want %q", err, out.String(), want)
	}
}

func TestRun_Errors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, err := run(t, console.Config{In: io.MultiReader(strings.NewReader("hi\n"), failing{broken}), Out: io.Discard}, nil); !errors.Is(err, broken) {
		t.Errorf("a broken input: Run = %v", err)
	}
	turn := func(context.Context) error { return broken }
	if _, err := run(t, console.Config{In: strings.NewReader("hi\n"), Out: io.Discard, Turn: turn}, nil); !errors.Is(err, broken) {
		t.Errorf("a broken turn: Run = %v", err)
	}
	if _, err := console.New(console.Config{}, console.Deps{}); err == nil {
		t.Error("New without input succeeded")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestRun_RefusalsAreTold_G6(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{
		"en": "! That line is too long.\n! That was a lot at once. Please try again later.\n! That could not be saved. Please type it again.\n",
		"es": "! Esa línea es demasiado larga.\n! Fueron muchas líneas seguidas. Inténtalo más tarde.\n! No se pudo guardar. Escríbelo de nuevo.\n",
	} {
		out := &screen{}
		input := strings.Repeat("x", 1<<20+1) + "\nrate\nstore\n"
		_, err := run(t, console.Config{In: strings.NewReader(input), Out: out, Lang: lang}, func(_ *console.Adapter, in channels.Inbound) error {
			if in.Text == "rate" {
				return &channels.RefusedError{Reason: channels.RefusedRate}
			}
			return errors.New("disk full")
		})
		if err != nil || out.String() != want {
			t.Errorf("%s: Run = %v, printed %q, want %q", lang, err, out.String(), want)
		}
	}
}

func TestSend_Interactive(t *testing.T) {
	t.Parallel()
	out := &screen{}
	_, err := run(t, console.Config{In: strings.NewReader("hi\n"), Out: out, Interactive: true, Bot: "espiga"},
		func(a *console.Adapter, in channels.Inbound) error {
			_, err := a.Send(t.Context(), channels.Part{Text: "re: " + in.Text})
			return err
		})
	const wipe = "\r\x1b[K"
	want := wipe + "you> " + wipe + "you> " + wipe + "espiga> re: hi\nyou> \n"
	if err != nil || out.String() != want {
		t.Errorf("Run = %v, printed %q, want %q", err, out.String(), want)
	}
}

func TestSend_TerminalCommandsAreTakenOut(t *testing.T) {
	t.Parallel()
	out := &screen{}
	a := newConsole(t, console.Config{In: strings.NewReader(""), Out: out})
	text := "a\x1b[2J\x07\u009b31m\u202eb\r\nc\td \xff 👩‍👧"
	if _, err := a.Send(t.Context(), channels.Part{Text: text}); err != nil {
		t.Fatal(err)
	}
	if want := "bot> a[2J31mb\n     c\td \uFFFD 👩‍👧\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// writer writes n bytes and fails.
type writer struct {
	n   int
	err error
}

func (w writer) Write([]byte) (int, error) { return w.n, w.err }

func TestSend_G5_ErrorClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		out  io.Writer
		want channels.SendClass
	}{
		"pipe closed": {writer{0, io.ErrClosedPipe}, channels.PermanentChat},
		"file closed": {writer{0, &os.PathError{Op: "write", Path: "stdout", Err: os.ErrClosed}}, channels.PermanentChat},
		"half":        {writer{3, io.ErrClosedPipe}, channels.Unknown},
		"other":       {writer{0, errors.New("busy")}, channels.Temporary},
	} {
		a := newConsole(t, console.Config{In: strings.NewReader(""), Out: tc.out})
		if _, err := a.Send(t.Context(), channels.Part{Text: "x"}); err == nil || channels.ClassOf(err) != tc.want {
			t.Errorf("%s: %v, want class %s", name, err, tc.want)
		}
	}
}

// A file that knows deadlines is interrupted without being closed.
func TestRun_EndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	a := newConsole(t, console.Config{In: r, Out: io.Discard})
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- a.Run(ctx, sinkFunc(func(context.Context, channels.Inbound) error { close(got); return nil }))
	}()
	if _, err := io.WriteString(w, "hi\n"); err != nil {
		t.Fatal(err)
	}
	<-got
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
