package whatsappcloud

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// outMessage is a message as POST /{phone-number-id}/messages takes it.
type outMessage struct {
	Product       string          `json:"messaging_product"`
	RecipientType string          `json:"recipient_type"`
	To            string          `json:"to,omitempty"`
	Recipient     string          `json:"recipient,omitempty"`
	Type          string          `json:"type"`
	Text          *outText        `json:"text,omitempty"`
	Interactive   *outInteractive `json:"interactive,omitempty"`
	Template      *outTemplate    `json:"template,omitempty"`
	Context       *outContext     `json:"context,omitempty"`
	Callback      string          `json:"biz_opaque_callback_data,omitempty"`
}

type outText struct {
	Body       string `json:"body"`
	PreviewURL bool   `json:"preview_url"`
}

type outContext struct {
	MessageID string `json:"message_id"`
}

type outInteractive struct {
	Type   string    `json:"type"`
	Body   outBody   `json:"body"`
	Action outAction `json:"action"`
}

type outBody struct {
	Text string `json:"text"`
}

type outAction struct {
	Buttons []outButton `json:"buttons"`
}

type outButton struct {
	Type  string   `json:"type"`
	Reply outReply `json:"reply"`
}

type outReply struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type outTemplate struct {
	Name       string         `json:"name"`
	Language   outLanguage    `json:"language"`
	Components []outComponent `json:"components,omitempty"`
}

type outLanguage struct {
	Policy string `json:"policy"`
	Code   string `json:"code"`
}

type outComponent struct {
	Type       string         `json:"type"`
	Parameters []outParameter `json:"parameters"`
}

type outParameter struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// outRead marks a message as read, and shows that an answer is being written.
type outRead struct {
	Product   string     `json:"messaging_product"`
	Status    string     `json:"status"`
	MessageID string     `json:"message_id"`
	Typing    *outTyping `json:"typing_indicator,omitempty"`
}

type outTyping struct {
	Type string `json:"type"`
}

func (a *Adapter) messages() string { return "/" + a.cfg.PhoneNumberID + "/messages" }

// Send makes one message: text, or reply buttons below it. Where the window is
// known to be closed it is the template. Where Meta says so only now, the
// window is noted and the error is temporary: the next attempt is the template.
func (a *Adapter) Send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	m := a.draft(part)
	if a.people.closed(part.Chat.ID) && a.cfg.Template.Name != "" && !part.Chat.Group {
		if len(part.Buttons) > 0 {
			return channels.Receipt{}, &channels.SendError{
				Class: channels.PermanentMessage, Code: codeWindow, Err: errors.New("a question can't be asked by a template, and 24 hours have passed since the person's last message"),
			}
		}
		m.Type, m.Text, m.Context, m.Template = "template", nil, nil, a.template(part.Text)
	}
	var answer struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	err := a.graph.call(ctx, http.MethodPost, a.messages(), m, &answer)
	if se, ok := errors.AsType[*channels.SendError](err); ok {
		if se.Code == codeWindow && m.Type != "template" {
			a.people.shut(part.Chat.ID)
			if a.cfg.Template.Name != "" && len(part.Buttons) == 0 && !part.Chat.Group {
				se.Class = channels.Temporary
			}
		}
		return channels.Receipt{}, se
	}
	if len(answer.Messages) == 0 || answer.Messages[0].ID == "" {
		return channels.Receipt{}, &channels.SendError{Class: channels.Unknown, Err: errors.New("the answer has no message id")}
	}
	return channels.Receipt{ID: channels.MessageID(answer.Messages[0].ID)}, nil
}

func (a *Adapter) draft(part channels.Part) outMessage {
	m := outMessage{Product: "whatsapp", RecipientType: "individual", Type: "text", Text: &outText{Body: part.Text}}
	id := string(part.Chat.ID)
	switch {
	case part.Chat.Group:
		m.RecipientType, m.To = "group", id
	case isDigits(strings.TrimPrefix(id, "+")):
		m.To = id
	default: // a business-scoped user id
		m.Recipient = id
	}
	if len(part.Key) <= callbackMax {
		m.Callback = part.Key
	}
	if part.ReplyTo != "" {
		m.Context = &outContext{MessageID: string(part.ReplyTo)}
	}
	if len(part.Buttons) > 0 {
		m.Type, m.Text = "interactive", nil
		m.Interactive = &outInteractive{Type: "button", Body: outBody{Text: part.Text}}
		for _, b := range part.Buttons {
			m.Interactive.Action.Buttons = append(m.Interactive.Action.Buttons, outButton{
				Type: "reply", Reply: outReply{ID: string(b.ID), Title: b.Label},
			})
		}
	}
	return m
}

// template carries the text in the template's one variable, which may hold no
// line break and no run of spaces.
func (a *Adapter) template(text string) *outTemplate {
	t := &outTemplate{Name: a.cfg.Template.Name, Language: outLanguage{Policy: "deterministic", Code: a.cfg.Template.Lang}}
	if a.cfg.Template.Bare {
		return t
	}
	line := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(line) > templateMax {
		line = string([]rune(line)[:templateMax-1]) + "…"
	}
	t.Components = []outComponent{{Type: "body", Parameters: []outParameter{{Type: "text", Text: line}}}}
	return t
}

// Typing marks the chat's newest message as read, and shows the sign of
// writing until the reply or for 25 seconds. WhatsApp can't take it away.
func (a *Adapter) Typing(ctx context.Context, chat channels.Chat, until time.Time) {
	id := a.people.last(chat.ID)
	if !a.cfg.MarkRead || id == "" || until.IsZero() {
		return
	}
	read := outRead{Product: "whatsapp", Status: "read", MessageID: string(id), Typing: &outTyping{Type: "text"}}
	var answer struct{}
	if err := a.graph.call(ctx, http.MethodPost, a.messages(), read, &answer); err != nil {
		a.log.Debug("sign of typing was not shown", "err", err)
	}
}
