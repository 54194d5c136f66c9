package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
)

// Accept is T0 and T0′.
func (s *Store) Accept(ctx context.Context, d inbox.Delivery) (inbox.Accepted, error) {
	// The message is marshalled outside the writer: it is the bulk of the work.
	payload, err := json.Marshal(d.In)
	if err != nil {
		return inbox.Accepted{}, fmt.Errorf("encoding message: %w", err)
	}
	return write(ctx, s, d.Place.Lane, func(tx Tx, now time.Time) (inbox.Accepted, error) {
		acc, err := accept(tx, now, d, payload)
		if acc.Lane == "" {
			acc.Lane = d.Place.Lane
		}
		return acc, err
	})
}

const qDedupe = `INSERT INTO dedupe(key, seen_at) VALUES(?1, ?2) ON CONFLICT(key) DO NOTHING`

// remember tells whether the key is new.
func remember(tx Tx, now time.Time, key string) (bool, error) {
	n, err := tx.Exec(qDedupe, key, ms(now))
	if err != nil {
		return false, fmt.Errorf("remembering message: %w", err)
	}
	return n > 0, nil
}

func accept(tx Tx, now time.Time, d inbox.Delivery, payload []byte) (inbox.Accepted, error) {
	fresh, err := remember(tx, now, d.DedupeKey)
	if err != nil {
		return inbox.Accepted{}, err
	}
	if d.In.Kind == channels.KindPress {
		return acceptPress(tx, now, d, !fresh)
	}
	if !fresh {
		return inbox.Accepted{Outcome: inbox.Duplicate}, nil
	}
	l, found, asked, err := lockLanes(tx, d)
	if err != nil {
		return inbox.Accepted{}, err
	}
	if asked {
		acc, ok, err := acceptAnswer(tx, now, d)
		if err != nil || ok {
			return acc, err
		}
	}
	switch {
	case !d.Routed:
		return inbox.Accepted{Outcome: inbox.Ignored}, nil
	case d.OverRate:
		return notWorkedOn(tx, now, d, inbox.OverRate, channels.RefusedRate, d.RateNotice)
	case d.QueueMax > 0 && l.inSeq-l.doneSeq >= int64(d.QueueMax):
		notice := d.QueueNotice
		if l.over {
			notice = nil
		}
		acc, err := notWorkedOn(tx, now, d, inbox.OverQueue, channels.RefusedQueueFull, notice)
		if err == nil && !l.over {
			l.over = true
			err = l.save(tx, now, found)
		}
		return acc, err
	}
	return queue(tx, now, d, l, found, payload)
}

// lockLanes reads the message's lane. Where the message may answer a question
// of the chat, asked is true, and the lanes of all of them are locked: in the
// order of their keys, so that two who answer each other's can't wait for each
// other.
func lockLanes(tx Tx, d inbox.Delivery) (own lane, found, asked bool, err error) {
	keys := []string{d.Place.Lane}
	if d.Answers && d.Place.Chat.Group {
		err := tx.Rows(qWaitLanes, []any{d.Place.ChatKey}, func(scan func(...any) error) error {
			var key string
			err := scan(&key)
			keys = append(keys, key)
			return err
		})
		if err != nil {
			return own, false, false, fmt.Errorf("reading questions: %w", err)
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	for _, key := range keys {
		l, ok, err := getLane(tx, key)
		if err != nil {
			return own, false, false, err
		}
		if key == d.Place.Lane {
			own, found = l, ok
		}
	}
	return own, found, d.Answers && (own.parked || len(keys) > 1), nil
}

const qInboxInsert = `INSERT INTO inbox(lane, seq, payload, received_at, taken_by) VALUES(?1, ?2, ?3, ?4, '')`

// queue gives the message its place in the lane.
func queue(tx Tx, now time.Time, d inbox.Delivery, l lane, found bool, payload []byte) (inbox.Accepted, error) {
	if !found {
		l = lane{key: d.Place.Lane, channel: d.Place.Channel, chatKey: d.Place.ChatKey}
	}
	l.inSeq++
	l.over = false
	if _, err := tx.Exec(qInboxInsert, l.key, l.inSeq, payload, ms(now)); err != nil {
		return inbox.Accepted{}, fmt.Errorf("queueing message: %w", err)
	}
	if err := l.save(tx, now, found); err != nil {
		return inbox.Accepted{}, err
	}
	if err := logUser(tx, now, d.Place, d.In); err != nil {
		return inbox.Accepted{}, err
	}
	return inbox.Accepted{Outcome: inbox.Queued, Wake: l.ready != 0, Logged: true}, nil
}

// notWorkedOn is for a message past a limit: refused where the channel can,
// else taken, and answered by the notice.
func notWorkedOn(tx Tx, now time.Time, d inbox.Delivery, out inbox.Outcome, why channels.RefusedReason, notice []channels.Part) (inbox.Accepted, error) {
	if d.Refuse {
		// The error rolls the dedupe key back too: the same message may come
		// again when there is room.
		return inbox.Accepted{}, &channels.RefusedError{Reason: why, After: time.Second}
	}
	if err := logUser(tx, now, d.Place, d.In); err != nil {
		return inbox.Accepted{}, err
	}
	acc := inbox.Accepted{Outcome: out, Logged: true}
	if len(notice) > 0 {
		if _, err := say(tx, now, d.Place.Channel, d.Place.ChatKey, notice, saying{}); err != nil {
			return acc, err
		}
		acc.Speak = true
	}
	return acc, nil
}

// acceptAnswer lets a typed text answer a pending question of the chat.
func acceptAnswer(tx Tx, now time.Time, d inbox.Delivery) (inbox.Accepted, bool, error) {
	if _, _, err := getChat(tx, d.Place.ChatKey); err != nil {
		return inbox.Accepted{}, false, err
	}
	waits, err := pendingWaits(tx, d.Place.ChatKey)
	if err != nil {
		return inbox.Accepted{}, false, err
	}
	w, ans, ok := confirm.MatchText(waits, confirm.Attempt{
		Lane: d.Place.Lane, From: d.In.From.ID, Text: d.In.Text, Class: d.Class,
		ReplyTo: d.In.ReplyTo, Routed: d.Routed, At: now, Written: d.In.At,
	})
	if !ok {
		return inbox.Accepted{}, false, nil
	}
	if err := logUser(tx, now, d.Place, d.In); err != nil {
		return inbox.Accepted{}, false, err
	}
	acc, err := resolve(tx, now, w, ans)
	acc.Logged = true
	return acc, true, err
}

// acceptPress resolves the question that the button belongs to.
func acceptPress(tx Tx, now time.Time, d inbox.Delivery, again bool) (inbox.Accepted, error) {
	stale := inbox.Accepted{Outcome: inbox.Stale}
	token, value, ok := confirm.ParseButton(d.In.Button)
	if !ok {
		return stale, nil
	}
	var lane, chatKey string
	if ok, err := tx.Row(qWaitPlace, []any{token}, &lane, &chatKey); err != nil || !ok {
		return stale, wrap("reading question", err)
	}
	if chatKey != d.Place.ChatKey {
		// Another chat's button: whoever pressed it there may not answer.
		return inbox.Accepted{Outcome: inbox.NotYours}, nil
	}
	if _, _, err := getLane(tx, lane); err != nil {
		return stale, err
	}
	if _, _, err := getChat(tx, chatKey); err != nil {
		return stale, err
	}
	w, ok, err := getWait(tx, token)
	if err != nil || !ok {
		return stale, err
	}
	ans, out := confirm.MatchPress(w, value, d.In.From.ID, now, again)
	switch out {
	case channels.PressNotYours:
		return inbox.Accepted{Outcome: inbox.NotYours}, nil
	case channels.PressStale:
		if w.Wait.Expired != nil && !again {
			_, err := say(tx, now, d.Place.Channel, d.Place.ChatKey, []channels.Part{*w.Wait.Expired}, saying{})
			return inbox.Accepted{Outcome: inbox.Stale, Speak: true}, err
		}
		return stale, nil
	case channels.PressAccepted, channels.PressPending:
	}
	if w.State != confirm.Pending {
		return inbox.Accepted{Outcome: inbox.AnsweredQuestion}, nil
	}
	ans.Written = d.In.At
	acc, err := resolve(tx, now, w, ans)
	if err != nil {
		return acc, err
	}
	if part, ok := w.Answered[value]; ok {
		if _, err := say(tx, now, d.Place.Channel, d.Place.ChatKey, []channels.Part{part}, saying{}); err != nil {
			return acc, err
		}
		acc.Speak = true
	}
	return acc, nil
}

// Language is what /lang set.
func (s *Store) Language(ctx context.Context, key string) (string, error) {
	return peek(ctx, s, func(tx Tx, _ time.Time) (string, error) {
		var lang string
		_, err := tx.Row(`SELECT lang FROM lane WHERE key=?1`, []any{key}, &lang)
		return lang, err
	})
}
