package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	tg "github.com/go-telegram/bot"

	"github.com/parley-bot/parley/channels"
)

// allowedUpdates are the kinds that are asked for. Telegram keeps the list, so
// it is sent with every poll and every registration.
func allowedUpdates() []string {
	return []string{"message", "edited_message", "callback_query", "my_chat_member"}
}

// decode reads an update. One that can't be read is skipped by the callers: it
// would come again for ever.
func decode(raw []byte) (*update, error) {
	u := new(update)
	if err := json.Unmarshal(raw, u); err != nil {
		return nil, fmt.Errorf("update: %w", err)
	}
	return u, nil
}

// accept hands an update to the core. Nil means that it is committed, or is
// nothing to be kept; an error, that Telegram has to deliver it again.
func (a *Adapter) accept(ctx context.Context, sink channels.Sink, u *update) error {
	me := a.known()
	if u.group() {
		var err error
		if me, err = a.whoami(ctx); err != nil {
			return err
		}
	}
	if err := a.noticeMove(ctx, u); err != nil {
		return err
	}
	if m := u.MyChatMember; m != nil {
		a.log.Debug("bot's membership changed", "status", channels.Clip(m.New.Status, 20), "group", m.Chat.group())
	}
	in, ok := u.inbound(me)
	if !ok {
		if p := u.CallbackQuery; p != nil && p.ID != "" {
			// A game's button, or one of a message nobody can see: whoever
			// pressed it still waits for a sign.
			if err := a.answer(ctx, p.ID, ""); err != nil {
				a.log.Debug("press without a place could not be acknowledged", "err", err)
			}
		}
		return nil
	}
	err := sink.Accept(ctx, in)
	if r, ok := errors.AsType[*channels.RefusedError](err); ok && r.Reason != channels.RefusedUnavailable {
		a.log.Debug("message refused", "reason", string(r.Reason), "kind", string(in.Kind))
		return nil
	}
	return err
}

// answer acknowledges a press. One that Telegram has forgotten is no error.
func (a *Adapter) answer(ctx context.Context, query, text string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := a.api.AnswerCallbackQuery(ctx, &tg.AnswerCallbackQueryParams{CallbackQueryID: query, Text: clipUTF16(text, maxNotice)})
	if err == nil {
		a.answered.add(query)
		return nil
	}
	if e, ok := errors.AsType[*apiError](err); ok && (e.says("query is too old") || e.says("query ID is invalid")) {
		// Late, or answered by an earlier delivery: nothing more can be done.
		a.log.Info("press was acknowledged too late", "err", e)
		return nil
	}
	return a.http.sendError(err)
}
