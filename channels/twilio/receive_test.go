package twilio_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/twilio"
)

func TestReceive(t *testing.T) {
	t.Parallel()
	const button = "0123456789abcdef0123456789abcdef.y"
	person := func(id string, name string) channels.User {
		return channels.User{ID: channels.UserID(id), Name: name, Claims: map[string]string{"phone": ana}}
	}
	message := func(in channels.Inbound) channels.Inbound {
		if in.Kind == "" {
			in.Kind = channels.KindMessage
		}
		in.ID, in.Chat, in.From = "SM1", channels.Chat{ID: waAna}, person(waAna, "Ana")
		return in
	}
	for name, tc := range map[string]struct {
		change func(*twilio.Config)
		from   string
		text   string
		fields []string
		want   channels.Inbound
	}{
		"SMS": {nil, ana, "hello", nil, channels.Inbound{
			Kind: channels.KindMessage, ID: "SM1", Chat: channels.Chat{ID: ana}, From: person(ana, ""), Text: "hello",
		}},
		"WhatsApp": {onWhatsApp, waAna, "hello", nil, message(channels.Inbound{Text: "hello"})},
		"reply": {
			onWhatsApp, waAna, "yes",
			[]string{"OriginalRepliedMessageSid", "SMq", "OriginalRepliedMessageSender", wa},
			message(channels.Inbound{Text: "yes", ReplyTo: "SMq"}),
		},
		"media without text": {
			onWhatsApp, waAna, "",
			[]string{"NumMedia", "2", "MediaContentType0", "image/jpeg", "MediaUrl0", "https://api.twilio.com/1", "MediaContentType1", "text/vcard", "MediaUrl1", "https://api.twilio.com/2"},
			message(channels.Inbound{Media: []channels.Media{
				{Type: "image", MIME: "image/jpeg", Ref: "https://api.twilio.com/1"}, {Type: "contact", MIME: "text/vcard", Ref: "https://api.twilio.com/2"},
			}}),
		},
		"media with a caption": {
			onWhatsApp, waAna, "this one", []string{"NumMedia", "1", "MediaContentType0", "application/pdf"},
			message(channels.Inbound{Text: "this one", Media: []channels.Media{{Type: "document", MIME: "application/pdf"}}}),
		},
		"location": {
			onWhatsApp, waAna, "", []string{"Latitude", "40.4", "Longitude", "-3.7", "Label", "Sol"},
			message(channels.Inbound{Media: []channels.Media{{Type: "location", Name: "Sol", Ref: "40.4,-3.7"}}}),
		},
		"press": {
			withContent, waAna, "Yes", []string{"ButtonPayload", button, "ButtonText", "Yes", "OriginalRepliedMessageSid", "SMq"},
			message(channels.Inbound{Kind: channels.KindPress, Button: button, ReplyTo: "SMq"}),
		},
		"press of somebody else's template": {
			withContent, waAna, "", []string{"ButtonPayload", "order status", "ButtonText", "Where is my order?"},
			message(channels.Inbound{Text: "Where is my order?"}),
		},
		"press without a template of ours": {
			onWhatsApp, waAna, "Yes", []string{"ButtonPayload", button, "ButtonText", "Yes"},
			message(channels.Inbound{Text: "Yes"}),
		},
		"more files than there can be": {onWhatsApp, waAna, "x", []string{"NumMedia", "-5"}, message(channels.Inbound{Text: "x"})},
	} {
		b := newBed(t, func(c *twilio.Config) {
			if tc.change != nil {
				tc.change(c)
			}
		})
		to := sms
		if tc.change != nil {
			to = wa
		}
		b.deliver(tc.from, to, tc.text, tc.fields...)
		if d := cmp.Diff([]channels.Inbound{tc.want}, b.got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestReceive_WhatIsNotForTheBot(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.deliver(ana, "+15550009999", "to another number of the account")
	b.deliver(sms, sms, "from itself")
	b.deliver("", sms, "from nobody")
	b.deliver(ana, sms, "STOP", "OptOutType", "STOP")
	b.deliver(ana, sms, "HELP", "OptOutType", "HELP")
	b.deliver(ana, sms, "no id", "MessageSid", "", "SmsSid", "")
	if len(b.got) > 0 {
		t.Errorf("accepted %+v", b.got)
	}
}

// A messaging service has several numbers, any of which may be written to.
func TestReceive_MessagingService(t *testing.T) {
	t.Parallel()
	const service = "MG00000000000000000000000000000001"
	b := newBed(t, func(c *twilio.Config) { c.From, c.MessagingServiceSID = "", service })
	b.deliver(ana, "+15550009999", "hello", "MessagingServiceSid", service)
	b.deliver(ana, "+15550009999", "for another one", "MessagingServiceSid", "MGother")
	b.deliver(ana, "+15550009999", "for none")
	if len(b.got) != 1 || b.got[0].Text != "hello" {
		t.Errorf("accepted %+v", b.got)
	}
	if _, err := b.adapter.Send(t.Context(), channels.Part{Chat: b.got[0].Chat, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages()[0]; m.Service != service || m.From != "" {
		t.Errorf("sent %+v", m)
	}
}

// Whoever writes to a number is answered from that number: one of the service's
// others isn't this channel's.
func TestReceive_NumberOfAService(t *testing.T) {
	t.Parallel()
	const service = "MG00000000000000000000000000000001"
	b := newBed(t, func(c *twilio.Config) { c.MessagingServiceSID = service })
	b.deliver(ana, sms, "to the number", "MessagingServiceSid", service)
	b.deliver(ana, sms, "to the number, outside the service")
	b.deliver(ana, "+15550009999", "to another number", "MessagingServiceSid", service)
	if len(b.got) != 2 || b.got[0].Text != "to the number" || b.got[1].Text != "to the number, outside the service" {
		t.Errorf("accepted %+v", b.got)
	}
	if _, err := b.adapter.Send(t.Context(), channels.Part{Chat: b.got[0].Chat, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages()[0]; m.From != sms || m.To != ana {
		t.Errorf("sent %+v, want it from the number that was written to", m)
	}
}

// On WhatsApp both addresses keep their prefix; the platform refuses others.
func TestReceive_WhatsAppIsAnsweredOnWhatsApp(t *testing.T) {
	t.Parallel()
	b := newBed(t, onWhatsApp)
	b.deliver(waAna, wa, "hello")
	if len(b.got) != 1 {
		t.Fatalf("accepted %+v", b.got)
	}
	if _, err := b.adapter.Send(t.Context(), channels.Part{Chat: b.got[0].Chat, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages()[0]; m.From != wa || m.To != waAna {
		t.Errorf("sent %+v", m)
	}
}

// A report has SmsStatus as a message has: it is told by MessageStatus, and is
// never taken for one.
func TestStatus_ReportsAreNoMessages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if _, err := b.adapter.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: ana}, Text: "hello", Key: "sms:" + ana + "#7"}); err != nil {
		t.Fatal(err)
	}
	m := b.platform.Messages()[0]
	for _, r := range [][2]string{{"queued", ""}, {"sending", ""}, {"sent", ""}, {"delivered", ""}, {"read", ""}, {"undelivered", "30006"}, {"failed", "21610"}, {"failed", ""}, {"brandnew", ""}} {
		if w := b.platform.Report(m, r[0], r[1]); w.Code != http.StatusOK {
			t.Errorf("%s: status %d", r[0], w.Code)
		}
	}
	if len(b.got) > 0 {
		t.Errorf("reports taken for messages: %+v", b.got)
	}
	type report struct {
		State channels.DeliveryState
		Class channels.SendClass
		Code  string
	}
	var got []report
	for _, u := range b.statuses {
		r := report{State: u.State}
		if u.Err != nil {
			r.Class, r.Code = u.Err.Class, u.Err.Code
		}
		got = append(got, r)
		if u.Key != "sms:"+ana+"#7" || u.ID != channels.MessageID(m.SID) || u.Chat.ID != ana {
			t.Errorf("report %+v", u)
		}
	}
	want := []report{
		{channels.Delivered, "", ""},
		{channels.Read, "", ""},
		{channels.Undelivered, channels.PermanentChat, "30006"},
		{channels.Undelivered, channels.PermanentChat, "21610"},
		{channels.Undelivered, channels.PermanentMessage, ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	b.answer = &channels.RefusedError{Reason: channels.RefusedUnavailable}
	if w := b.platform.Report(m, "failed", "30006"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a report that couldn't be saved: status %d, want 503", w.Code)
	}
}
