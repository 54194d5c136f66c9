package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/parley-bot/parley/channels"
)

var _ channels.Adapter = (*Adapter)(nil)

// ChatID is the one chat there is.
const ChatID channels.ChatID = "console"

// Config says where the conversation takes place.
type Config struct {
	// In is read line by line. When Run returns, a read that still waits is
	// ended by In's SetReadDeadline or Close, where In has one; a terminal's
	// read can't be ended and is left behind, without effect.
	In io.Reader
	// Out gets what the bot says, one Write a message.
	Out io.Writer
	// Interactive is set where Out is a terminal: there is a prompt, and
	// what the bot says is written over it.
	Interactive bool
	// Bot and User head the lines; the defaults are "bot" and "you".
	Bot, User string
	// Lang is the language of the person (BCP 47), or "".
	Lang string
	// Turn, if set, is called before each line is handed on, and once more
	// when the input has ended. It returns when the bot has nothing left to
	// say, so that lines from a pipe are said one after the other, as by a
	// person who reads the answers. An error ends Run.
	Turn func(ctx context.Context) error
}

// Deps is what the program gives an adapter.
type Deps struct {
	Log *slog.Logger
	// Name is the channel's name.
	Name string
}

// Adapter is the conversation.
type Adapter struct {
	cfg  Config
	log  *slog.Logger
	run  string // part of each id, since numbers begin anew in each process
	last atomic.Int64
	done chan struct{}
	end  func()

	mu   sync.Mutex // guards Out
	left bool       // the input has ended: no more prompts
}

// New makes an adapter.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if cfg.In == nil || cfg.Out == nil {
		return nil, errors.New("console: input and output are needed")
	}
	cfg.Bot, cfg.User = cmp.Or(cfg.Bot, "bot"), cmp.Or(cfg.User, "you")
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	done := make(chan struct{})
	return &Adapter{
		cfg:  cfg,
		log:  deps.Log.With("component", "console", "channel", deps.Name),
		run:  strings.ToLower(rand.Text()[:12]),
		done: done,
		end:  sync.OnceFunc(func() { close(done) }),
	}, nil
}

// Done is closed when the input has ended and all of it was handed on.
func (a *Adapter) Done() <-chan struct{} { return a.done }

// Capabilities is plain text of any length.
func (a *Adapter) Capabilities(channels.Chat) channels.Capabilities { return channels.Capabilities{} }

// Send prints one message.
func (a *Adapter) Send(_ context.Context, part channels.Part) (channels.Receipt, error) {
	n, err := a.print(block(a.cfg.Bot+"> ", part.Text))
	if err == nil {
		return channels.Receipt{ID: a.newID("out")}, nil
	}
	class := channels.Temporary
	switch {
	case n > 0:
		class = channels.Unknown // a part of it is on the screen
	case errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		class = channels.PermanentChat
	}
	return channels.Receipt{}, &channels.SendError{Class: class, Err: fmt.Errorf("printing a message: %w", err)}
}

// print writes text and, in a terminal, the prompt below it.
func (a *Adapter) print(text string) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cfg.Interactive && !a.left {
		text = "\r\x1b[K" + text + a.cfg.User + "> "
	}
	return io.WriteString(a.cfg.Out, text)
}

// note tells the person something that the bot didn't say. That it can't be
// told is no reason to stop: the next Send will say so.
func (a *Adapter) note(text string) { _, _ = a.print(block("! ", text)) }

// leave ends the last prompt's line.
func (a *Adapter) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = true
	if a.cfg.Interactive {
		_, _ = io.WriteString(a.cfg.Out, "\n")
	}
	a.end()
}

func (a *Adapter) newID(kind string) channels.MessageID {
	return channels.MessageID(fmt.Sprintf("%s-%s-%d", a.run, kind, a.last.Add(1)))
}
