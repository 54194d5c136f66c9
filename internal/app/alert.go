package app

import (
	"context"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

// keyAlert is where a channel's state has what its operator was told, so that
// a restart neither repeats it nor forgets that it is over.
const keyAlert = "alert"

// alert tells the operator's chat of channels that don't work, and when they
// work again. A state that only a person can end is told at once, one that may
// pass after alerts.after.
func (a *App) alert(ctx context.Context) {
	if a.cfg.Alerts.Chat == "" {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.health.changed:
		case <-timer.C:
		}
		next := time.Hour
		for name, s := range a.health.standings() {
			if wait := a.judge(ctx, name, s); wait > 0 {
				next = min(next, wait)
			}
		}
		timer.Reset(next)
	}
}

// judge tells of one channel what is to be told. It returns when to look
// again, 0 where there is no need.
func (a *App) judge(ctx context.Context, name string, s standing) time.Duration {
	const again = 10 * time.Second // where the store fails
	if s.ended || s.link.State == channels.LinkStandby {
		return 0
	}
	begun, waits := s.bad, !s.lasting()
	if s.up() {
		begun, waits = s.upSince, s.assumed
	}
	if left := a.cfg.Alerts.After - a.health.now().Sub(begun); waits && left > 0 {
		return left
	}
	state := a.host(name).State()
	had, err := state.Get(ctx, keyAlert)
	if err != nil {
		return again
	}
	var want []byte
	if !s.up() {
		want = []byte(s.link.State)
	}
	if s.endless {
		want = []byte("endless") // more than failed: a person has to restart
	}
	// That it is connecting, or that a device is to be linked, is no news to
	// somebody who was told why it doesn't work.
	known := had != nil && want != nil && (!s.lasting() || s.link.State == channels.LinkPairing)
	if string(had) == string(want) || known {
		return 0
	}
	key, args := locale.AlertUp, []locale.Arg{{Name: "channel", Value: name}}
	if want != nil {
		key, args = locale.AlertDown, append(args, locale.Arg{Name: "reason", Value: s.link.String()})
	}
	b := a.shifts.newest()
	text := b.texts.Text(b.of.Bot.Lang, key, args...)
	channel, chat, _ := strings.Cut(a.cfg.Alerts.Chat, ":")
	part := channels.Part{Chat: channels.Chat{ID: channels.ChatID(chat)}, Text: text}
	if err := a.st.Tell(ctx, channel, a.cfg.Alerts.Chat, part); err != nil {
		a.log.Warn("alert could not be queued", "channel", name, "err", err)
		return again
	}
	a.speak(channel, a.cfg.Alerts.Chat)
	if _, err := state.Swap(ctx, keyAlert, had, want); err != nil {
		a.log.Warn("alert could not be noted", "channel", name, "err", err)
	}
	return 0
}
