package twilio

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/channels"
)

// message hands a message to the sink; an error means that it wasn't
// committed.
func (a *Adapter) message(ctx context.Context, sink channels.Sink, f url.Values) error {
	in := inbound(f, a.cfg.ContentSID != "")
	switch {
	case in.ID == "" || in.From.ID == "":
		a.log.Warn("request without a message ignored")
		return nil
	case !a.mine(f):
		a.log.Warn("message to another sender ignored", "to", f.Get("To"))
		return nil
	case f.Get("From") == f.Get("To"):
		return nil
	case f.Get("OptOutType") != "":
		// STOP, START and HELP: Twilio has answered, and no more may be sent.
		a.log.Info("opt-out keyword left to the platform", "type", f.Get("OptOutType"))
		return nil
	}
	err := sink.Accept(ctx, in)
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && refused.Reason != channels.RefusedUnavailable {
		a.log.Info("message refused", "reason", refused.Reason)
		return nil
	}
	return err
}

// mine tells whether the message was sent to this sender. With a number of its
// own that is the number, also in a service: whoever wrote to another one of the
// service would be answered from a number that they don't know.
func (a *Adapter) mine(f url.Values) bool {
	if a.cfg.From != "" {
		return f.Get("To") == a.cfg.From
	}
	return f.Get("MessagingServiceSid") == a.cfg.MessagingServiceSID
}

// inbound is a form in the core's words. buttons is true where questions have
// buttons.
func inbound(f url.Values, buttons bool) channels.Inbound {
	from := f.Get("From")
	in := channels.Inbound{
		Kind: channels.KindMessage, ID: channels.MessageID(f.Get("MessageSid")), Chat: channels.Chat{ID: channels.ChatID(from)},
		From:    channels.User{ID: channels.UserID(from), Name: f.Get("ProfileName"), Claims: map[string]string{}},
		Text:    f.Get("Body"),
		ReplyTo: channels.MessageID(f.Get("OriginalRepliedMessageSid")),
	}
	if in.ID == "" {
		in.ID = channels.MessageID(f.Get("SmsSid"))
	}
	if phone := strings.TrimPrefix(from, whatsapp); strings.HasPrefix(phone, "+") {
		in.From.Claims["phone"] = phone
	}
	if payload := f.Get("ButtonPayload"); buttons && isButton(payload) {
		in.Kind, in.Button, in.Text = channels.KindPress, channels.ButtonID(payload), ""
		return in
	}
	if in.Text == "" {
		// The quick reply of another template: what the person says by it.
		in.Text = f.Get("ButtonText")
	}
	in.Media = media(f)
	return in
}

// isButton tells whether a payload can be one of our ids, and not a word that
// somebody wrote into a template.
func isButton(payload string) bool {
	return len(payload) >= 16 && len(payload) <= 64 && strings.Trim(payload, alnum+"-_.:~+/=") == ""
}

// mediaMost is how many files one message can have.
const mediaMost = 20

func media(f url.Values) []channels.Media {
	n, err := strconv.Atoi(f.Get("NumMedia"))
	if err != nil {
		n = 0
	}
	var out []channels.Media
	for i := range min(max(n, 0), mediaMost) {
		mime := f.Get("MediaContentType" + strconv.Itoa(i))
		out = append(out, channels.Media{Type: typeOf(mime), MIME: mime, Ref: f.Get("MediaUrl" + strconv.Itoa(i))})
	}
	if lat, long := f.Get("Latitude"), f.Get("Longitude"); lat != "" && long != "" {
		out = append(out, channels.Media{Type: "location", Name: f.Get("Label"), Ref: lat + "," + long})
	}
	return out
}

func typeOf(mime string) string {
	kind, sub, _ := strings.Cut(mime, "/")
	switch {
	case kind == "image", kind == "audio", kind == "video":
		return kind
	case strings.HasPrefix(sub, "vcard"), strings.HasPrefix(sub, "x-vcard"):
		return "contact"
	default:
		return "document"
	}
}

// status tells the sink what became of a message.
func (a *Adapter) status(ctx context.Context, sink channels.Sink, f url.Values, key string) error {
	u := channels.StatusUpdate{
		Chat: channels.Chat{ID: channels.ChatID(f.Get("To"))}, ID: channels.MessageID(f.Get("MessageSid")),
	}
	if k, err := base64.RawURLEncoding.DecodeString(key); err == nil {
		u.Key = string(k)
	}
	switch f.Get("MessageStatus") {
	case "delivered":
		u.State = channels.Delivered
	case "read":
		u.State = channels.Read
	case "failed", "undelivered", "canceled":
		u.State = channels.Undelivered
		code, err := strconv.Atoi(f.Get("ErrorCode"))
		if err != nil {
			code = 0
		}
		u.Err = refusal(0, 0, code, "the message is "+f.Get("MessageStatus"))
		if isContent(code) {
			a.giveUpContent(code)
		}
	default: // accepted, queued, sending, sent, …
		return nil
	}
	hears, ok := sink.(channels.StatusSink)
	if !ok || u.ID == "" {
		return nil
	}
	return hears.Status(ctx, u)
}
