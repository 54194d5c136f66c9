package config

import (
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

// alerts checks that there is somebody to be told.
func (c *checker) alerts() {
	a := c.cfg.Alerts
	c.positive("alerts.after", a.After)
	if a.Chat == "" {
		return
	}
	channel, chat, ok := strings.Cut(a.Chat, ":")
	if !ok || channel == "" || chat == "" {
		c.badf(problem.Channel, "alerts.chat", "must name a channel and a chat there, such as telegram:12345")
		return
	}
	var names []string
	for _, ch := range c.cfg.Channels {
		names = append(names, ch.Name)
	}
	if !slices.Contains(names, channel) {
		c.badf(problem.Channel, "alerts.chat", "there is no channel %q (there are: %s)", tree.Clip(channel), strings.Join(names, ", "))
	}
}
