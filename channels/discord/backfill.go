package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// gapLife is how far back missed messages are fetched.
	gapLife = 24 * time.Hour
	// page is how many messages one call returns, and maxPages how many calls
	// are made for a channel.
	page     = 100
	maxPages = 20
	// fetchEvery keeps most of the fifty calls a second that Discord allows
	// for answers, while thousands of conversations are looked into.
	fetchEvery = time.Second / 30
)

// pace spaces calls.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// turn tells how long to wait for one's turn.
func (p *pace) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Before(now) {
		p.next = now
	}
	pause := p.next.Sub(now)
	p.next = p.next.Add(fetchEvery)
	return pause
}

// onReady begins a session. What was said since the last one is fetched: in
// direct conversations that are known now, in servers when their channels are.
func (g *gateway) onReady(ctx context.Context, seq int64, d json.RawMessage) error {
	var r struct {
		SessionID string `json:"session_id"`
		URL       string `json:"resume_gateway_url"`
		User      user   `json:"user"`
		App       struct {
			ID string `json:"id"`
		} `json:"application"`
		Guilds []struct {
			ID string `json:"id"`
		} `json:"guilds"`
	}
	if err := json.Unmarshal(d, &r); err != nil || r.SessionID == "" || r.User.ID == "" {
		return fmt.Errorf("READY makes no sense: %w", errors.Join(err))
	}
	var guilds []string
	for _, one := range r.Guilds {
		guilds = append(guilds, one.ID)
	}
	since := g.ready(r.SessionID, r.URL, guilds, g.theirs())
	e := g.begin(seq)
	g.remember(ctx, identity{r.User.ID, r.User.Username, r.App.ID})
	g.link.Set(channels.LinkUp, "")
	g.log.Info("gateway session begun", "servers", len(guilds), "gap", since != 0)
	g.setUp()
	if since != 0 {
		for _, dm := range g.directs() {
			if err := g.lookInto(dm, "", since); err != nil {
				return err
			}
		}
		g.gap(0)
	}
	g.finish(e, 0)
	return nil
}

// listed is a channel in a server's list.
type listed struct {
	ID   string `json:"id"`
	Last string `json:"last_message_id"`
}

// onGuild learns the bot's role, and looks into the channels where something
// was said in the gap.
func (g *gateway) onGuild(e *entry, d json.RawMessage) error {
	var guild struct {
		ID       string   `json:"id"`
		Away     bool     `json:"unavailable"` // it comes once more
		Channels []listed `json:"channels"`
		Threads  []listed `json:"threads"`
		Roles    []struct {
			ID   string `json:"id"`
			Tags struct {
				BotID string `json:"bot_id"`
			} `json:"tags"`
		} `json:"roles"`
	}
	if err := json.Unmarshal(d, &guild); err != nil {
		g.log.Error("list of a server can't be read", "err", err)
		g.finish(e, 0)
		return nil
	}
	if guild.Away {
		g.finish(e, 0)
		return nil
	}
	me := g.known()
	for _, r := range guild.Roles {
		if r.Tags.BotID != "" && r.Tags.BotID == me.ID {
			g.own(r.ID)
		}
	}
	if since := g.since(); since != 0 {
		for _, c := range slices.Concat(guild.Channels, guild.Threads) {
			if snowflake(c.Last) <= since {
				continue
			}
			if err := g.lookInto(c.ID, guild.ID, since); err != nil {
				return err
			}
		}
	}
	g.guild(guild.ID)
	g.finish(e, 0)
	return nil
}

// lookInto queues the fetching of what was said in a channel, before what
// comes from now on. A gap that couldn't be filled stays open: it is tried
// again with the next session.
func (g *gateway) lookInto(channel, guild string, since uint64) error {
	g.gap(1)
	return g.queue(channels.ChatID(channel), func(ctx context.Context) {
		if g.fetch(ctx, channel, guild, since) == nil {
			g.gap(-1)
		}
	})
}

// fetch gets what was said in a channel and hands it to the core, which knows
// what it has. With an error there may be more.
func (g *gateway) fetch(ctx context.Context, channel, guild string, since uint64) error {
	after := max(since, first(g.theirs().Add(-gapLife)))
	for n := 0; ; n++ {
		if n == maxPages {
			g.log.Error("too much was said in a channel while the bot was away: the rest is skipped", "messages", n*page)
			return nil
		}
		list, err := g.history(ctx, channel, after)
		if err != nil {
			return err
		}
		// Not by slices: a generic sort of so large a struct is 24 kB of code.
		sort.Slice(list, func(i, j int) bool { return cmpIDs(list[i].ID, list[j].ID) < 0 })
		for i := range list {
			m := &list[i]
			m.GuildID = guild // which the call leaves out
			after = max(after, snowflake(m.ID))
			if in, ok := g.translate(m, false); ok {
				if _, err := g.takeOne(ctx, in); err != nil {
					return err
				}
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// history makes the call until it succeeds or can't. A channel that the bot
// may not read has nothing for it. A token that is refused ends the connection,
// and with it ctx, sooner or later: until then nothing of the channel may pass.
func (g *gateway) history(ctx context.Context, channel string, after uint64) ([]incoming, error) {
	path := messages + "?limit=" + strconv.Itoa(page) + "&after=" + strconv.FormatUint(after, 10)
	for n := 1; ; n++ {
		if pause := g.fetches.turn(g.now()); pause > 0 {
			if err := g.wait(ctx, pause); err != nil {
				return nil, err
			}
		}
		var list []incoming
		err := g.at(ctx, http.MethodGet, channel, path, nil, &list)
		if err == nil {
			return list, nil
		}
		e, answered := errors.AsType[*apiError](err)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case answered && e.class() == channels.PermanentChat:
			g.log.Debug("a channel can't be looked into", "err", err)
			return nil, nil
		case answered && e.class() == channels.PermanentMessage:
			g.log.Error("what was said in a channel while the bot was away can't be fetched", "err", err)
			return nil, nil
		case n >= maxTries && !refusedToken(err):
			g.log.Error("what was said in a channel while the bot was away could not be fetched: it is tried again with the next session", "err", err)
			return nil, err
		}
		pause := channels.BackOff(n, longestWait)
		if answered {
			pause = max(e.after, pause)
		}
		g.log.Warn("fetching what was missed failed: trying again", "retry_in", pause, "err", err)
		if err := g.wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func cmpIDs(a, b string) int {
	x, y := snowflake(a), snowflake(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
