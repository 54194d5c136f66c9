package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	keyOffset = "offset"
	// offsetLife is how long an offset is good. After a week without updates
	// their ids begin anew anywhere, and an old offset would confirm what
	// nobody has seen.
	offsetLife = 6 * 24 * time.Hour
	// patience is how long polling may fail until Run returns.
	patience = time.Minute
	// pollLimit bounds a poll, slack what comes between two, such as what the
	// core does with an update and the call that acknowledges a press.
	pollLimit = pollTime + 15*time.Second
	slack     = 2 * time.Minute
	// maxConflicts is how many other pollers in a row are borne: one is the
	// last poll of the process that ran before.
	maxConflicts = 4
	// maxTries is how often an update is offered to a core that fails at it,
	// not for want of its store: some nine minutes.
	maxTries = 25
)

// offset is the first update that isn't confirmed yet.
type offset struct {
	Next int64     `json:"next"`
	At   time.Time `json:"at"`
}

// trouble is how long polling has failed. It outlives a Run, so that a channel
// that is down and started again is down at its first failure.
type trouble struct {
	since     time.Time
	fails     int
	conflicts int
	webhooks  int
}

// poll receives by long polling. A poll's offset confirms all updates before
// it, so it moves on only past what the core has committed.
func (a *Adapter) poll(ctx context.Context, sink channels.Sink) error {
	off := a.loadOffset(ctx)
	for ctx.Err() == nil {
		channels.Progressed(sink, pollLimit+slack)
		batch, err := a.getUpdates(ctx, off)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopping is no failure
		}
		if err != nil {
			wait, err := a.failed(ctx, err)
			if err != nil {
				return err
			}
			channels.Progressed(sink, wait+slack)
			if a.rest(ctx, wait) != nil {
				return nil //nolint:nilerr // likewise
			}
			continue
		}
		a.trouble = trouble{}
		a.link.Set(channels.LinkUp, "")
		channels.Progressed(sink, slack)
		if len(batch) == 0 {
			continue
		}
		if n := a.takeAll(ctx, sink, batch); n > 0 {
			off = offset{batch[n-1].id + 1, a.now()}
		}
		a.saveOffset(ctx, off)
	}
	return nil
}

// chatsAtOnce is how many chats of one batch are taken side by side: a press
// waits for its acknowledgement, a call to the platform, and must not hold up
// the other chats' presses meanwhile.
const chatsAtOnce = 32

// takeAll offers a batch to the core, each chat's updates in their order. It
// returns how many from the start of the batch the core has: all of them,
// unless ctx has ended.
func (a *Adapter) takeAll(ctx context.Context, sink channels.Sink, batch []polled) int {
	taken := make([]bool, len(batch))
	byChat := map[int64][]int{}
	var order []int64
	for i, p := range batch {
		var chat int64
		if p.update != nil {
			chat = p.update.chatID()
		}
		if byChat[chat] == nil {
			order = append(order, chat)
		}
		byChat[chat] = append(byChat[chat], i)
	}
	room := make(chan struct{}, chatsAtOnce)
	var wg sync.WaitGroup
	for _, chat := range order {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			for _, i := range byChat[chat] {
				if a.takeOne(ctx, sink, batch[i]) != nil {
					return // ctx has ended
				}
				taken[i] = true
			}
		})
	}
	wg.Wait()
	for i, ok := range taken {
		if !ok {
			return i
		}
	}
	return len(batch)
}

// polled is an update that a poll returned; update is nil where it can't be
// read.
type polled struct {
	id     int64
	update *update
}

func (a *Adapter) getUpdates(ctx context.Context, off offset) ([]polled, error) {
	wait := pollTime
	if a.Link().State != channels.LinkUp {
		wait = 0 // whether polling works is known at once
	}
	params := map[string]any{"timeout": int(wait / time.Second), "limit": 100, "allowed_updates": allowedUpdates()}
	if off.Next != 0 && a.now().Sub(off.At) < offsetLife {
		params["offset"] = off.Next
	}
	// A connection that died without a sign must not stop the channel.
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	var raw []json.RawMessage
	if err := a.http.call(ctx, "getUpdates", params, &raw); err != nil {
		return nil, err
	}
	batch := make([]polled, 0, len(raw))
	for _, r := range raw {
		var id struct {
			ID *int64 `json:"update_id"`
		}
		if err := json.Unmarshal(r, &id); err != nil || id.ID == nil {
			return nil, lost(true, errors.New("an update has no id"))
		}
		u, err := decode(r)
		if err != nil {
			a.log.Error("update can't be read and is skipped", "update", *id.ID, "err", err)
		}
		batch = append(batch, polled{*id.ID, u})
	}
	return batch, nil
}

// takeOne offers an update until the core has it. Meanwhile nothing else of
// its chat is taken, and nothing polled. The error is that of a context that ended.
func (a *Adapter) takeOne(ctx context.Context, sink channels.Sink, p polled) error {
	if p.update == nil {
		return nil
	}
	for n, tries := 1, 0; ; n++ {
		err := a.accept(ctx, sink, p.update)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		channels.Progressed(sink, slack)
		if err == nil {
			return nil
		}
		wait := channels.BackOff(n, longestWait)
		if r, ok := errors.AsType[*channels.RefusedError](err); ok {
			wait = max(r.After, wait)
		} else if tries++; tries == maxTries {
			a.log.Error("update is given up: the core fails at it each time", "update", p.id, "err", err)
			return nil
		}
		a.log.Warn("update could not be taken: trying again", "update", p.id, "retry_in", wait, "err", err)
		channels.Progressed(sink, wait+slack)
		if err := a.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// failed tells how long to wait after a poll that failed, or why to stop.
func (a *Adapter) failed(ctx context.Context, err error) (time.Duration, error) {
	t := &a.trouble
	t.fails++
	if t.since.IsZero() {
		t.since = a.now()
	}
	wait := channels.BackOff(t.fails, longestWait)
	e, answered := errors.AsType[*apiError](err)
	switch {
	case refusedToken(err):
		return 0, a.tokenRefused(err)
	case answered && e.bot && e.code == http.StatusConflict:
		return wait, a.conflict(ctx, e)
	case answered && e.after > 0:
		wait = e.after
	}
	if down := a.now().Sub(t.since); down >= patience {
		return 0, fmt.Errorf("polling has failed for %s: %w", down.Round(time.Second), err)
	}
	a.link.Set(channels.LinkConnecting, "polling failed: "+err.Error())
	a.log.Warn("polling failed: trying again", "retry_in", wait, "err", err)
	return wait, nil
}

// conflict deals with the two reasons why somebody else has the updates.
func (a *Adapter) conflict(ctx context.Context, e *apiError) error {
	t := &a.trouble
	if e.says("webhook is active") {
		if t.webhooks++; t.webhooks > maxConflicts {
			return fmt.Errorf("a webhook is set for this bot again and again: another program runs it; stop that, or set channels.%s.mode to webhook: %w", a.name, e)
		}
		a.link.Set(channels.LinkConnecting, "a webhook is set for this bot")
		a.log.Warn("a webhook is set for this bot, which polls: deleting it", "err", e)
		if err := a.deleteWebhook(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("webhook could not be deleted", "err", err)
		}
		return nil
	}
	if t.conflicts++; t.conflicts >= maxConflicts {
		return fmt.Errorf("another process polls with the token of channels.%s: stop it, or get a new token from @BotFather if you know of none: %w", a.name, e)
	}
	a.link.Set(channels.LinkConnecting, "another process polls with this token")
	a.log.Warn("another process polls with this token: once after a restart that is normal", "err", e)
	return nil
}

func (a *Adapter) loadOffset(ctx context.Context) (off offset) {
	text, err := a.state.Get(ctx, keyOffset)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &off)
	}
	if err != nil {
		// Without it the last updates come once more, and are known.
		a.log.Warn("poll offset could not be read", "err", err)
		return offset{}
	}
	return off
}

// saveOffset works on while the process is stopping.
func (a *Adapter) saveOffset(ctx context.Context, off offset) {
	if off.Next == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	text, err := json.Marshal(off)
	if err == nil {
		err = channels.Put(ctx, a.state, keyOffset, text)
	}
	if err != nil {
		a.log.Warn("poll offset could not be saved", "err", err)
	}
}
