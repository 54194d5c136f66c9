package twilio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	openapi "github.com/twilio/twilio-go/rest/api/v2010"

	"github.com/parley-bot/parley/channels"
)

// Send makes one message: text, or a question by the quick-reply template.
// Where that template doesn't work the error is temporary, and the next attempt
// asks in words.
func (a *Adapter) Send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	p := new(openapi.CreateMessageParams)
	p.SetTo(string(part.Chat.ID))
	if a.cfg.From != "" {
		p.SetFrom(a.cfg.From)
	}
	if a.cfg.MessagingServiceSID != "" {
		p.SetMessagingServiceSid(a.cfg.MessagingServiceSID)
	}
	p.SetStatusCallback(a.callback(part.Key))
	byContent := len(part.Buttons) > 0 && a.cfg.ContentSID != "" && !a.noContent.Load()
	if byContent {
		vars, err := variables(part)
		if err != nil {
			return channels.Receipt{}, &channels.SendError{Class: channels.PermanentMessage, Err: err}
		}
		p.SetContentSid(a.cfg.ContentSID)
		p.SetContentVariables(vars)
	} else {
		p.SetBody(words(part))
	}
	api, c := a.service(ctx)
	m, err := api.CreateMessage(p)
	if err != nil {
		failed := a.failure(c, err)
		if code, err := strconv.Atoi(failed.Code); err == nil && byContent && isContent(code) {
			a.giveUpContent(code)
			failed.Class = channels.Temporary
		}
		return channels.Receipt{}, failed
	}
	if m.Sid == nil || *m.Sid == "" {
		return channels.Receipt{}, &channels.SendError{Class: channels.Unknown, Err: errors.New("the answer has no message SID")}
	}
	return channels.Receipt{ID: channels.MessageID(*m.Sid)}, nil
}

// variables fills the template: {{1}} is the text, {{2}} and {{3}} are the ids
// of its buttons.
func variables(part channels.Part) (string, error) {
	vars := map[string]string{"1": part.Text}
	for i, b := range part.Buttons {
		vars[strconv.Itoa(i+2)] = string(b.ID)
	}
	out, err := json.Marshal(vars)
	if err != nil {
		return "", fmt.Errorf("encoding variables: %w", err)
	}
	return string(out), nil
}

// words is the part where there are no buttons: what they say stands below.
func words(part channels.Part) string {
	if len(part.Buttons) == 0 {
		return part.Text
	}
	labels := make([]string, len(part.Buttons))
	for i, b := range part.Buttons {
		labels[i] = b.Label
	}
	return part.Text + "\n(" + strings.Join(labels, " / ") + ")"
}

// giveUpContent stops the use of the template until the next start.
func (a *Adapter) giveUpContent(code int) {
	if a.cfg.ContentSID != "" && !a.noContent.Swap(true) {
		a.log.Error("the template content_sid doesn't work: questions are asked in words until the next start. "+
			"It has to be a quick reply with the body {{1}} and two buttons whose ids are {{2}} and {{3}}", "code", code)
	}
}
