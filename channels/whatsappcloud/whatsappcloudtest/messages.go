package whatsappcloudtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// request is everything that the adapter may send to /messages; any other
// field is refused.
type request struct {
	Product       string `json:"messaging_product"`
	RecipientType string `json:"recipient_type"`
	To            string `json:"to"`
	Recipient     string `json:"recipient"`
	Type          string `json:"type"`
	Callback      string `json:"biz_opaque_callback_data"`
	Context       *struct {
		MessageID string `json:"message_id"`
	} `json:"context"`
	Text *struct {
		Body       string `json:"body"`
		PreviewURL bool   `json:"preview_url"`
	} `json:"text"`
	Interactive *struct {
		Type string `json:"type"`
		Body struct {
			Text string `json:"text"`
		} `json:"body"`
		Action struct {
			Buttons []struct {
				Type  string `json:"type"`
				Reply struct {
					ID    string `json:"id"`
					Title string `json:"title"`
				} `json:"reply"`
			} `json:"buttons"`
		} `json:"action"`
	} `json:"interactive"`
	Template *struct {
		Name     string `json:"name"`
		Language struct {
			Policy string `json:"policy"`
			Code   string `json:"code"`
		} `json:"language"`
		Components []struct {
			Type       string `json:"type"`
			Parameters []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"parameters"`
		} `json:"components"`
	} `json:"template"`
	Status    string `json:"status"`
	MessageID string `json:"message_id"`
	Typing    *struct {
		Type string `json:"type"`
	} `json:"typing_indicator"`
}

// take is POST /messages; p.mu is held.
func (p *Platform) take(w http.ResponseWriter, r *http.Request) {
	var in request
	if err := strict(r.Body, &in); err != nil {
		refuse(w, http.StatusBadRequest, 100, "Invalid parameter: "+err.Error())
		return
	}
	if in.Status != "" {
		p.read(w, in)
		return
	}
	if f := p.fault; f != nil {
		p.fault = nil
		f.Answer(w, refuse)
		return
	}
	m, code, problem := check(in)
	if problem != "" {
		refuse(w, http.StatusBadRequest, code, problem)
		return
	}
	if at := p.wrote[m.To]; in.Type != "template" && p.Now().Sub(at) > 24*time.Hour && !p.LateWindow {
		refuse(w, http.StatusBadRequest, 131047, "More than 24 hours have passed since the recipient last replied")
		return
	}
	p.nextID++
	m.ID = fmt.Sprintf("wamid.OUT%d", p.nextID)
	p.Take(m)
	answer(w, map[string]any{
		"messaging_product": "whatsapp", "contacts": []map[string]string{{"input": m.To, "wa_id": m.To}},
		"messages": []map[string]string{{"id": m.ID, "message_status": "accepted"}},
	})
}

func (p *Platform) read(w http.ResponseWriter, in request) {
	if in.Status != "read" || in.Product != "whatsapp" || p.inbound[in.MessageID] == "" || in.Typing != nil && in.Typing.Type != "text" {
		refuse(w, http.StatusBadRequest, 100, "message_id is not one of this number's")
		return
	}
	p.reads = append(p.reads, in.MessageID)
	if in.Typing != nil {
		p.typing = append(p.typing, in.MessageID)
	}
	answer(w, map[string]bool{"success": true})
}

// check holds a message to the rules of the reference.
func check(in request) (m Message, code int, problem string) {
	m = Message{To: in.To + in.Recipient, RecipientType: in.RecipientType, Type: in.Type, Callback: in.Callback}
	if in.Context != nil {
		m.ReplyTo = in.Context.MessageID
	}
	group := in.RecipientType == "group"
	switch {
	case in.Product != "whatsapp":
		return m, 100, "messaging_product is required"
	case in.RecipientType != "individual" && !group:
		return m, 100, "recipient_type must be individual or group"
	case (in.To == "") == (in.Recipient == ""):
		return m, 131008, "one of to and recipient is required"
	case in.To != "" && !group && strings.Trim(in.To, "+0123456789") != "":
		return m, 131009, "to must be a phone number"
	case in.Recipient != "" && (len(in.Recipient) < 4 || in.Recipient[2] != '.'):
		return m, 131009, "recipient must be a business-scoped user id"
	case len(in.Callback) > 512:
		return m, 100, "biz_opaque_callback_data is over 512 characters"
	case in.Context != nil && in.Context.MessageID == "":
		return m, 131009, "context.message_id is empty"
	}
	switch in.Type {
	case "text":
		if in.Text == nil || in.Interactive != nil || in.Template != nil {
			return m, 131008, "text is required, and nothing else"
		}
		m.Text = in.Text.Body
		if n := utf8.RuneCountInString(m.Text); n == 0 || n > 4096 {
			return m, 100, "Param text['body'] must be at most 4096 characters long"
		}
	case "interactive":
		return checkInteractive(in, m, group)
	case "template":
		return checkTemplate(in, m)
	default:
		return m, 100, "type is unknown"
	}
	return m, 0, ""
}

func checkInteractive(in request, m Message, group bool) (Message, int, string) {
	i := in.Interactive
	if i == nil || in.Text != nil || i.Type != "button" || group {
		return m, 131009, "interactive of type button is required, in a private chat"
	}
	m.Text = i.Body.Text
	if n := utf8.RuneCountInString(m.Text); n == 0 || n > 1024 {
		return m, 131009, "interactive.body.text must have 1 to 1024 characters"
	}
	if n := len(i.Action.Buttons); n < 1 || n > 3 {
		return m, 131009, "1 to 3 buttons are required"
	}
	for _, b := range i.Action.Buttons {
		title := utf8.RuneCountInString(b.Reply.Title)
		if b.Type != "reply" || title == 0 || title > 20 || b.Reply.ID == "" || len(b.Reply.ID) > 256 ||
			slices.ContainsFunc(m.Buttons, func(o Button) bool { return o.ID == b.Reply.ID || o.Title == b.Reply.Title }) {
			return m, 131009, "a button needs a title of 1 to 20 characters and an id of 1 to 256, both unique"
		}
		m.Buttons = append(m.Buttons, Button{b.Reply.ID, b.Reply.Title})
	}
	return m, 0, ""
}

func checkTemplate(in request, m Message) (Message, int, string) {
	t := in.Template
	if t == nil || in.Text != nil || in.Interactive != nil || t.Name == "" || t.Language.Code == "" || t.Language.Policy != "deterministic" {
		return m, 132001, "template name, language and its policy are required"
	}
	m.Template = t.Name
	for _, c := range t.Components {
		for _, param := range c.Parameters {
			if c.Type != "body" || param.Type != "text" || param.Text == "" || strings.ContainsAny(param.Text, "\n\t") ||
				strings.Contains(param.Text, "     ") || utf8.RuneCountInString(param.Text) > 1024 {
				return m, 132018, "a template's variable can't have line breaks, tabs or runs of spaces"
			}
			m.Text += param.Text
		}
	}
	return m, 0, ""
}
