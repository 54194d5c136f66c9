package whatsappcloud

import (
	"context"
	"encoding/json"

	"github.com/parley-bot/parley/channels"
)

// statuses tells the sink what became of messages. Meta takes a message with
// 200 and may say only then that it can't deliver it: mostly since 24 hours
// have passed.
func (a *Adapter) statuses(ctx context.Context, sink channels.Sink, all []json.RawMessage) error {
	hears, ok := sink.(channels.StatusSink)
	for _, raw := range all {
		var s wireStatus
		if err := json.Unmarshal(raw, &s); err != nil || s.ID == "" {
			a.log.Warn("status of an unknown shape was left out")
			continue
		}
		u, known := a.update(s)
		if !known {
			continue
		}
		if u.Chat.ID == "" && s.RecipientUserID != "" {
			id, err := a.people.known(ctx, s.RecipientUserID)
			if err != nil {
				return err
			}
			u.Chat.ID = id
		}
		if u.Err != nil && u.Err.Code == codeWindow {
			a.people.shut(u.Chat.ID)
		}
		if !ok {
			continue
		}
		if err := hears.Status(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// update is a status in the core's words; false for those that say nothing
// new.
func (a *Adapter) update(s wireStatus) (channels.StatusUpdate, bool) {
	u := channels.StatusUpdate{
		Key: s.Callback, Chat: channels.Chat{ID: channels.ChatID(s.RecipientID)}, ID: channels.MessageID(s.ID), At: s.Timestamp.Time,
	}
	switch s.Status {
	case "delivered":
		u.State = channels.Delivered
	case "read", "played":
		u.State = channels.Read
	case "failed":
		u.State = channels.Undelivered
		e := apiError{Message: "no reason was given"}
		if len(s.Errors) > 0 {
			e = readError(s.Errors[0])
		}
		u.Err = a.graph.refusal(0, 0, e)
	default: // sent, deleted, warning
		return u, false
	}
	return u, true
}
