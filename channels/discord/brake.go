package discord

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// refusals in a row, of calls of a kind, are those after which a channel is
	// not asked again for refusedFor, unless Discord tells of a change.
	refusals   = 3
	refusedFor = 5 * time.Minute
	// maxRefused bounds what is remembered.
	maxRefused = 10_000
)

// brake keeps calls from being made whose refusal is known already. Discord
// bans an address that makes ten thousand calls in ten minutes that it answers
// with 401, 403 or 429: a busy channel in which the bot may not write is enough
// (https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans).
// What concerns the token the core keeps from being repeated.
type brake struct {
	mu     sync.Mutex
	routes map[route]refusal
	all    refusal
}

// route is a kind of call in a channel: what refuses one may let another pass.
type route struct{ method, channel, path string }

type refusal struct {
	err   *apiError
	until time.Time // zero while there were too few
	times int
}

// refused is the error that a call would have; nil is that nobody knows.
func (b *brake) refused(r route, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all.until.After(now) {
		e := *b.all.err
		e.after = b.all.until.Sub(now)
		return &e
	}
	if had, ok := b.routes[r]; ok && had.until.After(now) {
		e := *had.err
		e.again = true
		return &e
	}
	return nil
}

// answered takes note of how a call was answered; e is nil for a success.
func (b *brake) answered(r route, e *apiError, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e == nil:
		delete(b.routes, r)
	case e.class() == channels.PermanentChat:
		b.refuse(r, e, now, 1)
	case e.global:
		b.all = refusal{err: e, until: now.Add(e.after)}
	}
}

// refuse counts a refusal as so many; b.mu is held.
func (b *brake) refuse(r route, e *apiError, now time.Time, times int) {
	if b.routes == nil {
		b.routes = map[route]refusal{}
	}
	if len(b.routes) >= maxRefused {
		maps.DeleteFunc(b.routes, func(_ route, had refusal) bool { return !had.until.After(now) })
	}
	had := refusal{err: e, times: b.routes[r].times + times}
	if had.times >= refusals {
		had.until = now.Add(refusedFor)
	}
	if len(b.routes) < maxRefused {
		b.routes[r] = had
	}
}

// cantReply takes note that no message of a channel can be replied to.
func (b *brake) cantReply(channel string, e *apiError, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse(route{http.MethodPost, channel, replies}, e, now, refusals)
}

// release forgets what a channel refused; "" is all of them.
func (b *brake) release(channel string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.routes, func(r route, _ refusal) bool { return channel == "" || r.channel == channel })
}

// The calls of a channel, and the part of one that may be refused alone.
const (
	messages = "/messages"
	typing   = "/typing"
	replies  = "replies"
)

// at makes a call in a channel, with a path below the channel's, unless it is
// known to be refused.
func (a *Adapter) at(ctx context.Context, method, channel, path string, body, result any) error {
	r := route{method, channel, path}
	if strings.HasPrefix(path, messages) {
		r.path = messages // of whichever message, and however many
	}
	if err := a.brake.refused(r, a.now()); err != nil {
		return err
	}
	err := a.rest.call(ctx, method, "/channels/"+channel+path, body, result)
	if e, ok := errors.AsType[*apiError](err); ok || err == nil {
		a.brake.answered(r, e, a.now())
	}
	return err
}
