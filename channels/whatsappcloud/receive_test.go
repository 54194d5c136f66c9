package whatsappcloud_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
	"github.com/parley-bot/parley/internal/secret"
)

func serve(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// fuzzed is an adapter that never makes a call.
func fuzzed(t *testing.T, _ *bed) *whatsappcloud.Adapter {
	t.Helper()
	c := whatsappcloud.Defaults()
	c.PhoneNumberID, c.AccessToken, c.AppSecret = "100", secret.New("t"), secret.New("s")
	a, err := whatsappcloud.New(c, whatsappcloud.Deps{Host: channeltest.NewHost(), Name: "wa"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// samples are messages of every type.
func samples() map[string]object {
	return map[string]object{
		"text":          whatsappcloudtest.Text("m", "hello"),
		"reply":         {"id": "m", "type": "text", "text": object{"body": "yes"}, "context": object{"id": "wamid.Q", "from": "15550002222"}},
		"forwarded":     {"id": "m", "type": "text", "text": object{"body": "yes"}, "context": object{"forwarded": true}},
		"press":         whatsappcloudtest.Press("m", "c:Zk3f9:y", "Yes", "wamid.Q"),
		"list":          {"id": "m", "type": "interactive", "interactive": object{"type": "list_reply", "list_reply": object{"id": "row", "title": "T", "description": "D"}}},
		"form":          {"id": "m", "type": "interactive", "interactive": object{"type": "nfm_reply", "nfm_reply": object{"response_json": "{}"}}},
		"quick reply":   {"id": "m", "type": "button", "button": object{"payload": "P", "text": "Yes"}, "context": object{"id": "wamid.T"}},
		"image":         {"id": "m", "type": "image", "image": object{"id": "1", "mime_type": "image/jpeg", "caption": "look", "sha256": "x"}},
		"voice":         {"id": "m", "type": "audio", "audio": object{"id": "2", "mime_type": "audio/ogg; codecs=opus", "voice": true}},
		"video":         {"id": "m", "type": "video", "video": object{"id": "3", "mime_type": "video/mp4"}},
		"document":      {"id": "m", "type": "document", "document": object{"id": "4", "mime_type": "application/pdf", "filename": "a.pdf", "caption": "yes"}},
		"sticker":       {"id": "m", "type": "sticker", "sticker": object{"id": "5", "mime_type": "image/webp", "animated": false}},
		"location":      {"id": "m", "type": "location", "location": object{"latitude": 40.4, "longitude": -3.7, "name": "Sol"}},
		"contacts":      {"id": "m", "type": "contacts", "contacts": []object{{"name": object{"formatted_name": "Ben"}}}},
		"reaction":      {"id": "m", "type": "reaction", "reaction": object{"message_id": "wamid.Q", "emoji": "👍"}},
		"reaction gone": {"id": "m", "type": "reaction", "reaction": object{"message_id": "wamid.Q", "emoji": ""}},
		"revoke":        {"id": "m", "type": "revoke", "revoke": object{"original_message_id": "wamid.1"}},
		"edit":          {"id": "m", "type": "edit", "edit": object{"original_message_id": "wamid.1", "message": object{"type": "text", "text": object{"body": "no"}}}},
		"broken edit":   {"id": "m", "type": "edit", "edit": object{}},
		"unsupported":   {"id": "m", "type": "unsupported", "errors": []object{{"code": 131051, "title": "Message type unknown"}}},
		"system":        {"id": "m", "type": "system", "system": object{"type": "user_changed_number", "wa_id": "1"}},
		"order":         {"id": "m", "type": "order", "order": object{"catalog_id": "1"}},
		"new type":      {"id": "m", "type": "hologram", "hologram": object{}},
	}
}

func TestReceive_EveryType(t *testing.T) {
	t.Parallel()
	message := func(in channels.Inbound) *channels.Inbound {
		if in.Kind == "" {
			in.Kind = channels.KindMessage
		}
		if in.ID == "" {
			in.ID = "m"
		}
		in.Chat, in.At = channels.Chat{ID: ana}, time.Unix(1_700_000_000, 0).UTC()
		in.From = channels.User{ID: ana, Name: "Ana", Claims: map[string]string{"phone": "+" + ana}}
		return &in
	}
	media := func(text string, m channels.Media) *channels.Inbound {
		return message(channels.Inbound{Text: text, Media: []channels.Media{m}})
	}
	want := map[string]*channels.Inbound{
		"text":          message(channels.Inbound{Text: "hello"}),
		"reply":         message(channels.Inbound{Text: "yes", ReplyTo: "wamid.Q"}),
		"forwarded":     message(channels.Inbound{Text: "yes"}),
		"press":         message(channels.Inbound{Kind: channels.KindPress, Button: "c:Zk3f9:y", ReplyTo: "wamid.Q"}),
		"list":          message(channels.Inbound{Kind: channels.KindPress, Button: "row"}),
		"form":          media("", channels.Media{Type: "other"}),
		"quick reply":   message(channels.Inbound{Text: "Yes", ReplyTo: "wamid.T"}),
		"image":         media("look", channels.Media{Type: "image", MIME: "image/jpeg", Ref: "1"}),
		"voice":         media("", channels.Media{Type: "audio", MIME: "audio/ogg; codecs=opus", Ref: "2"}),
		"video":         media("", channels.Media{Type: "video", MIME: "video/mp4", Ref: "3"}),
		"document":      media("yes", channels.Media{Type: "document", MIME: "application/pdf", Name: "a.pdf", Ref: "4"}),
		"sticker":       media("", channels.Media{Type: "sticker", MIME: "image/webp", Ref: "5"}),
		"location":      media("", channels.Media{Type: "location", Name: "Sol", Ref: "40.4,-3.7"}),
		"contacts":      media("", channels.Media{Type: "contact", Name: "Ben"}),
		"edit":          message(channels.Inbound{Kind: channels.KindEdit, ID: "wamid.1", EditStamp: "m", Text: "no"}),
		"unsupported":   media("", channels.Media{Type: "other"}),
		"order":         media("", channels.Media{Type: "other"}),
		"new type":      media("", channels.Media{Type: "other"}),
		"reaction":      nil,
		"reaction gone": nil,
		"revoke":        nil,
		"broken edit":   nil,
		"system":        nil,
	}
	for name, m := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			m["timestamp"] = "1700000000"
			if w := b.platform.Deliver(b.platform.Batch(b.platform.From(ana, "Ana", m))); w.Code != http.StatusOK {
				t.Fatalf("status %d", w.Code)
			}
			expected, ok := want[name]
			if !ok {
				t.Fatal("nobody says what is expected")
			}
			var all []channels.Inbound
			if expected != nil {
				all = []channels.Inbound{*expected}
			}
			if d := cmp.Diff(all, b.got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A person stays in one chat, with the number in sight or hidden, whichever
// came first, and over a restart.
func TestReceive_BSUID_OneChatForOnePerson(t *testing.T) {
	t.Parallel()
	const user = "US.13491208655302741918"
	deliver := func(b *bed, id, phone string) channels.Inbound {
		t.Helper()
		m := whatsappcloudtest.Text(id, "hi")
		m["from_user_id"] = user
		contact := object{"user_id": user, "profile": object{"username": "ana"}}
		if phone != "" {
			m["from"], contact["wa_id"] = phone, phone
		}
		if w := b.platform.Deliver(b.platform.Batch(b.platform.Change(object{"contacts": []object{contact}, "messages": []object{m}}))); w.Code != http.StatusOK {
			t.Fatalf("status %d", w.Code)
		}
		return b.got[len(b.got)-1]
	}
	for name, tc := range map[string]struct {
		phones []string
		chat   channels.ChatID
	}{
		"hidden later": {[]string{ana, ""}, ana},
		"shown later":  {[]string{"", ana}, user},
		"never shown":  {[]string{"", ""}, user},
	} {
		b := newBed(t)
		first := deliver(b, "m1", tc.phones[0])
		again, err := whatsappcloud.New(configOf(b.platform), whatsappcloud.Deps{Host: b.host, Name: "wa"})
		if err != nil {
			t.Fatal(err)
		}
		b.platform.Serve(again.Webhook(b))
		second := deliver(b, "m2", tc.phones[1])
		if first.Chat.ID != tc.chat || second.Chat != first.Chat || second.From.ID != first.From.ID {
			t.Errorf("%s: chats %q and %q, users %q and %q; want %q", name, first.Chat.ID, second.Chat.ID, first.From.ID, second.From.ID, tc.chat)
		}
		if second.From.Name != "ana" || second.From.Claims["whatsapp_user_id"] != user {
			t.Errorf("%s: from %+v", name, second.From)
		}
	}
	b := newBed(t)
	b.host.Fail(errors.New("the store is away"))
	m := whatsappcloudtest.Text("m", "hi")
	m["from_user_id"] = user
	if w := b.platform.Deliver(b.platform.Batch(b.platform.Change(object{"messages": []object{m}}))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("sender unknown since the store is away: status %d, want 503", w.Code)
	}
}

func TestReceive_GroupsAndOwnMessages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	say := func(id string, more object) object {
		m := whatsappcloudtest.Text(id, "hi")
		maps.Copy(m, more)
		return m
	}
	b.platform.Deliver(b.platform.Batch(
		b.platform.From(ana, "Ana", say("m1", object{"group_id": "G1"}), say("m2", object{"group_id": "G1", "context": object{"id": "wamid.Q", "from": b.platform.Number}})),
		b.platform.From(b.platform.Number, "La Espiga", say("m3", nil)),
	))
	if len(b.got) != 2 {
		t.Fatalf("%d messages, want 2: %+v", len(b.got), b.got)
	}
	for i, mentioned := range []bool{false, true} {
		in := b.got[i]
		if in.Chat != (channels.Chat{ID: "G1", Group: true}) || in.From.ID != ana || in.Mentioned != mentioned {
			t.Errorf("message %d: %+v", i, in)
		}
	}
	if b.adapter.Capabilities(b.got[0].Chat).Buttons != nil {
		t.Error("buttons in a group")
	}
	if _, err := b.send(channels.Part{Chat: b.got[0].Chat, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if m := b.platform.Messages()[0]; m.To != "G1" || m.RecipientType != "group" {
		t.Errorf("sent %+v, want it to the group", m)
	}
}
