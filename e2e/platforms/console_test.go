package platforms

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/console"
)

// terminal is a pipe into the bot and out of it, with one person at its end.
type terminal struct {
	t       *testing.T
	adapter *console.Adapter

	mu    sync.Mutex
	keys  *io.PipeWriter
	wrote []string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	a, err := console.New(console.Config{In: strings.NewReader(""), Out: io.Discard}, console.Deps{Name: "console"})
	if err != nil {
		t.Fatal(err)
	}
	return &terminal{t: t, adapter: a}
}

func (c *terminal) yaml(...person) string { return "console: {}" }
func (c *terminal) connect(string)        {}

// open begins the input anew, as each start of the bot has its own.
func (c *terminal) open() io.Reader {
	r, w := io.Pipe()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = w
	return r
}

// Write implements io.Writer: one message.
func (c *terminal) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = append(c.wrote, string(p))
	return len(p), nil
}

// say types a line. Whoever is at the terminal may write, so that a stranger
// can't.
func (c *terminal) say(who person, text string) (again func()) {
	if who == stranger {
		return nil
	}
	c.mu.Lock()
	keys := c.keys
	c.mu.Unlock()
	if _, err := fmt.Fprintln(keys, text); err != nil {
		c.t.Errorf("typing %q: %v", text, err)
	}
	return nil
}

func (c *terminal) press(person, message, button) { c.t.Error("a terminal has no buttons") }

func (c *terminal) shown(who person) (out []message) {
	if who == stranger {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.wrote {
		text, ok := strings.CutPrefix(strings.TrimSuffix(w, "\n"), "bot> ")
		if !ok {
			c.t.Errorf("the bot wrote %q", w)
		}
		out = append(out, message{id: fmt.Sprint(i), text: strings.ReplaceAll(text, "\n     ", "\n")})
	}
	return out
}

func (c *terminal) caps() channels.Capabilities {
	return c.adapter.Capabilities(channels.Chat{ID: "1"})
}
func (c *terminal) calls() []call   { return nil }
func (c *terminal) wrong() []string { return nil }
