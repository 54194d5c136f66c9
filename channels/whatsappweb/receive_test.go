package whatsappweb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// What somebody writes has their number, their hidden id and their name.
func TestReceive_Text(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.ana.Say("M1", "hola")
	got := b.heard(1)
	want := channels.Inbound{
		Kind: channels.KindMessage, ID: "M1", Chat: channels.Chat{ID: "15551110001"}, Text: "hola", At: got.At,
		From: channels.User{ID: "15551110001", Name: "Ana", Claims: map[string]string{"phone": "+15551110001", "whatsapp_lid": b.ana.LID}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("received (-want +got):\n%s", d)
	}
	if age := time.Since(got.At); age > time.Minute || age < -time.Minute {
		t.Errorf("it was written %s ago", age)
	}
}

// TestReceive_OneChat: whatever address WhatsApp delivers from, a person is one
// chat, also over a restart, and where the number shows up later only.
func TestReceive_OneChat(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	text := &waE2E.Message{Conversation: new("hi")}
	b.ana.Send("A1", text, whatsappwebtest.Said{FromPhone: true})
	b.ana.Send("A2", text, whatsappwebtest.Said{})
	b.ana.Send("A3", text, whatsappwebtest.Said{Bare: true})
	b.ana.Send("A4", text, whatsappwebtest.Said{FromPhone: true, Bare: true})
	for n := 1; n <= 4; n++ {
		if in := b.heard(n); in.Chat.ID != "15551110001" || in.From.ID != "15551110001" {
			t.Errorf("message %s came as chat %q of %q", in.ID, in.Chat.ID, in.From.ID)
		}
	}
	// Somebody who hides the number at first, with the digits of a number.
	eve := b.fake.Person("15551110002", "15551110001000", "Eve")
	eve.Send("E1", text, whatsappwebtest.Said{Bare: true})
	if in := b.heard(5); in.Chat.ID != "15551110001000@lid" || in.From.Claims["phone"] != "" {
		t.Errorf("a hidden person came as %+v", in)
	}
	eve.Send("E2", text, whatsappwebtest.Said{})
	last := eve.Send("E3", text, whatsappwebtest.Said{FromPhone: true, Bare: true})
	for n := 6; n <= 7; n++ {
		if in := b.heard(n); in.Chat.ID != "15551110001000@lid" || in.From.Claims["phone"] != "+15551110002" {
			t.Errorf("with the number shown, message %s came as %+v", in.ID, in)
		}
	}
	last.WaitAcked() // or it comes once more
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.Adapter = b.adapter(whatsappwebDefaults())
	b.run().up(2)
	eve.Send("E4", text, whatsappwebtest.Said{FromPhone: true})
	b.ana.Send("A5", text, whatsappwebtest.Said{Bare: true})
	if in := b.heard(8); in.Chat.ID != "15551110001000@lid" {
		t.Errorf("after a restart it came as %q", in.Chat.ID)
	}
	if in := b.heard(9); in.Chat.ID != "15551110001" {
		t.Errorf("after a restart it came as %q", in.Chat.ID)
	}
}

// TestReceive_Ignored: what nobody wants an answer to is acknowledged all the
// same, so that it doesn't come again.
func TestReceive_Ignored(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	key := func(m *waE2E.ProtocolMessage) *waE2E.Message { return &waE2E.Message{ProtocolMessage: m} }
	for name, st := range map[string]*whatsappwebtest.Stanza{
		"the owner's own phone": b.fake.OwnerSays("O1", b.ana, "I am the owner"),
		"a status":              b.ana.Posts("S1", "look at me"),
		"before the link":       b.ana.Send("P1", &waE2E.Message{Conversation: new("old")}, whatsappwebtest.Said{At: time.Now().Add(-2 * time.Hour)}),
		"a reaction":            b.ana.Send("R1", &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{Text: new("👍")}}, whatsappwebtest.Said{}),
		"a deletion":            b.ana.Send("D1", key(&waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_REVOKE.Enum()}), whatsappwebtest.Said{}),
		"history":               b.ana.Send("H1", key(&waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION.Enum(), HistorySyncNotification: &waE2E.HistorySyncNotification{}}), whatsappwebtest.Said{}),
		"a vote":                b.ana.Send("V1", &waE2E.Message{PollUpdateMessage: &waE2E.PollUpdateMessage{}}, whatsappwebtest.Said{}),
		"a pin":                 b.ana.Send("V2", &waE2E.Message{PinInChatMessage: &waE2E.PinInChatMessage{}}, whatsappwebtest.Said{}),
		"a timer":               b.ana.Send("V3", key(&waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_EPHEMERAL_SETTING.Enum()}), whatsappwebtest.Said{}),
		"a broadcast list":      b.ana.Send("B1", &waE2E.Message{Conversation: new("to all")}, whatsappwebtest.Said{Attrs: map[string]any{"from": types.NewJID("1700000000", types.BroadcastServer), "participant": b.ana.Hidden()}}),
		"a channel":             b.fake.Newsletter("N1", "news"),
		"the owner in a group":  b.fake.OwnerSaysIn("O2", b.fake.Group("120363000000000001", b.ana), "I am the owner"),
		"the phone's history": b.fake.OwnerTells("O3", &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION.Enum(), HistorySyncNotification: &waE2E.HistorySyncNotification{},
		}),
		"keys of a group": b.ana.Send("K1", &waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{GroupID: new("1@g.us")}}, whatsappwebtest.Said{Group: "120363000000000001"}),
	} {
		if !st.Acked() {
			t.Errorf("%s wasn't acknowledged", name)
		}
	}
	b.ana.Say("M1", "hello")
	if in := b.heard(1); in.ID != "M1" {
		t.Errorf("taken: %+v", in)
	}
}

func TestReceive_Kinds(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	quote := &waE2E.ContextInfo{StanzaID: new("3EB0AA"), Participant: new("15550002222@s.whatsapp.net")}
	for i, tc := range []struct {
		m    *waE2E.Message
		want channels.Inbound
	}{
		{&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: new("yes"), ContextInfo: quote}}, channels.Inbound{Text: "yes", ReplyTo: "3EB0AA"}},
		{&waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: new("look"), Mimetype: new("image/png"), FileLength: proto.Uint64(9)}}, channels.Inbound{Text: "look", Media: []channels.Media{{Type: "image", MIME: "image/png", Size: 9}}}},
		{&waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{FileName: new("a.pdf")}}, channels.Inbound{Media: []channels.Media{{Type: "document", Name: "a.pdf"}}}},
		{&waE2E.Message{AudioMessage: &waE2E.AudioMessage{}}, channels.Inbound{Media: []channels.Media{{Type: "audio"}}}},
		{&waE2E.Message{VideoMessage: &waE2E.VideoMessage{}}, channels.Inbound{Media: []channels.Media{{Type: "video"}}}},
		{&waE2E.Message{StickerMessage: &waE2E.StickerMessage{}}, channels.Inbound{Media: []channels.Media{{Type: "sticker"}}}},
		{&waE2E.Message{LocationMessage: &waE2E.LocationMessage{Name: new("shop")}}, channels.Inbound{Media: []channels.Media{{Type: "location", Name: "shop"}}}},
		{&waE2E.Message{ContactMessage: &waE2E.ContactMessage{DisplayName: new("Bo")}}, channels.Inbound{Media: []channels.Media{{Type: "contact", Name: "Bo"}}}},
		{&waE2E.Message{PollCreationMessageV3: &waE2E.PollCreationMessage{}}, channels.Inbound{Media: []channels.Media{{Type: "other"}}}},
		{&waE2E.Message{ViewOnceMessageV2: &waE2E.FutureProofMessage{Message: &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: new("once")}}}}, channels.Inbound{Text: "once", Media: []channels.Media{{Type: "image"}}}},
		{&waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{Caption: new("the list"), FileName: new("a.pdf")}}}}, channels.Inbound{Text: "the list", Media: []channels.Media{{Type: "document", Name: "a.pdf"}}}},
		{&waE2E.Message{ContactsArrayMessage: &waE2E.ContactsArrayMessage{DisplayName: new("2 contacts")}}, channels.Inbound{Media: []channels.Media{{Type: "contact", Name: "2 contacts"}}}},
		{&waE2E.Message{LiveLocationMessage: &waE2E.LiveLocationMessage{}}, channels.Inbound{Media: []channels.Media{{Type: "location"}}}},
		{&waE2E.Message{ButtonsResponseMessage: &waE2E.ButtonsResponseMessage{Response: &waE2E.ButtonsResponseMessage_SelectedDisplayText{SelectedDisplayText: "Yes"}}}, channels.Inbound{Text: "Yes"}},
		{&waE2E.Message{ListResponseMessage: &waE2E.ListResponseMessage{Title: new("Rolls")}}, channels.Inbound{Text: "Rolls"}},
		{&waE2E.Message{TemplateButtonReplyMessage: &waE2E.TemplateButtonReplyMessage{SelectedDisplayText: new("No")}}, channels.Inbound{Text: "No"}},
		{&waE2E.Message{EphemeralMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{Conversation: new("gone soon")}}}, channels.Inbound{Text: "gone soon"}},
	} {
		b.ana.Send("K"+string(rune('a'+i)), tc.m, whatsappwebtest.Said{})
		got := b.heard(i + 1)
		if got.Text != tc.want.Text || got.ReplyTo != tc.want.ReplyTo || !cmp.Equal(got.Media, tc.want.Media) {
			t.Errorf("received %+v, want %+v", got, tc.want)
		}
	}
}

// TestReceive_AckedOnceTaken: a message, and what became of one of the bot's, is
// acknowledged when the core has it, and not before.
func TestReceive_AckedOnceTaken_G1(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]func(b *bed) *whatsappwebtest.Stanza{
		"a message": func(b *bed) *whatsappwebtest.Stanza { return b.ana.Say("M1", "hello") },
		"a receipt": func(b *bed) *whatsappwebtest.Stanza { return b.ana.Receives("3EB0AA", "delivered") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.sink.gate, b.sink.entered = make(chan struct{}), make(chan struct{}, 1)
			b.run().up(1)
			st := comes(b)
			<-b.sink.entered
			b.send("meanwhile", "k1") // an acknowledgement would be there before it
			if st.Done() {
				t.Error("acknowledged while it was being taken")
			}
			close(b.sink.gate)
			if !st.WaitAcked() {
				t.Error("taken, and never acknowledged")
			}
		})
	}
}

// What the bot can't decrypt it asks for, and takes when it comes again.
func TestReceive_AskedForAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.ana.Say("M1", "before").WaitAcked()
	b.ana.Garbled("M2", "hello")
	if in := b.heard(2); in.Text != "hello" || in.ID != "M2" {
		t.Errorf("received %+v", in)
	}
	b.send("the answer", "k1") // in the new session
	b.sees(b.ana, "the answer")
}

func TestReceive_Edit(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.ana.Say("M1", "2 rolls")
	b.ana.Edit("M2", "M1", "3 rolls")
	b.heard(1)
	if in := b.heard(2); in.Kind != channels.KindEdit || in.ID != "M1" || in.EditStamp != "M2" || in.Text != "3 rolls" {
		t.Errorf("the edit came as %+v", in)
	}
}

// In a group the bot is mentioned by its number or its hidden id, or answered
// to; a message's id holds its sender, who chose it.
func TestReceive_Group(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	group := whatsappwebtest.Said{Group: "120363000000000001"}
	say := func(id string, c *waE2E.ContextInfo) {
		b.ana.Send(id, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: new("x"), ContextInfo: c}}, group)
	}
	say("G1", nil)
	say("G2", &waE2E.ContextInfo{MentionedJID: []string{"15550002222@s.whatsapp.net"}})
	say("G3", &waE2E.ContextInfo{MentionedJID: []string{"990002222@lid"}})
	say("G4", &waE2E.ContextInfo{MentionedJID: []string{"990002222@s.whatsapp.net"}}) // somebody's number
	say("G5", &waE2E.ContextInfo{StanzaID: new("3EB0AA"), Participant: new("990002222@lid")})
	say("G6", &waE2E.ContextInfo{StanzaID: new("3EB0AA"), Participant: new("777@lid")})
	for i, want := range []struct {
		mentioned bool
		reply     channels.MessageID
	}{{}, {mentioned: true}, {mentioned: true}, {}, {true, "3EB0AA"}, {}} {
		in := b.heard(i + 1)
		if in.Mentioned != want.mentioned || in.ReplyTo != want.reply {
			t.Errorf("%s: mentioned %v, reply to %q", in.ID, in.Mentioned, in.ReplyTo)
		}
		if !in.Chat.Group || in.Chat.ID != "120363000000000001@g.us" || in.From.ID != "15551110001" || !strings.HasSuffix(string(in.ID), "/15551110001") {
			t.Errorf("came as %+v", in)
		}
	}
}

// "@bot yes" is a yes: the bot's name isn't part of what is said to it, whether
// it is the number or the hidden id.
func TestReceive_NameIsNoWord(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	number, lid := "15550002222@s.whatsapp.net", "990002222@lid"
	for i, tc := range []struct {
		says, of, want string
	}{
		{"@990002222 yes", lid, "yes"},
		{"@15550002222, yes", number, "yes"},
		{"yes @990002222", lid, "yes"},
		{"@990002222", lid, "@990002222"},
		{"is @990002222 here", lid, "is @990002222 here"},
		{"@9900022223 yes", lid, "@9900022223 yes"},
		{"@777 yes", "777@lid", "@777 yes"},
		{"@990002222 /help", lid, "/help"},
	} {
		b.ana.Send(fmt.Sprint("N", i), &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: new(tc.says), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{tc.of}},
		}}, whatsappwebtest.Said{Group: "120363000000000001"})
		if in := b.heard(i + 1); in.Text != tc.want || in.Mentioned != (tc.of != "777@lid") {
			t.Errorf("%q is heard as %q, mentioned %v; want %q", tc.says, in.Text, in.Mentioned, tc.want)
		}
	}
}

// What became of the bot's messages is passed on.
func TestReceive_Receipts(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	r := b.send("hello", "k1")
	for _, kind := range []string{"delivered", "read"} {
		if !b.ana.Receives(string(r.ID), kind).Acked() {
			t.Errorf("receipt %s wasn't acknowledged", kind)
		}
	}
	if !b.sink.wait(func() bool { return len(b.sink.updates) == 2 }) {
		t.Fatal("no reports")
	}
	if !b.ana.Receives(string(r.ID), "retry").Acked() || !b.ana.Receives(string(r.ID), "played").Acked() {
		t.Error("a receipt wasn't acknowledged")
	}
	if !b.sink.wait(func() bool { return len(b.sink.updates) == 3 }) {
		t.Fatal("no report of the third") // and none of what the phone asks for
	}
	for i, want := range []channels.DeliveryState{channels.Delivered, channels.Read, channels.Read} {
		if u := b.sink.updates[i]; u.State != want || u.ID != r.ID || u.Chat.ID != "15551110001" {
			t.Errorf("report %+v", u)
		}
	}
}

// TestReceive_Malformed: nobody can end the process by what they send.
func TestReceive_Malformed(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.ana.Say("M1", "hello")
	b.heard(1)
	skdm := func(raw []byte) *waE2E.Message {
		return &waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{
			GroupID: new("120363000000000001@g.us"), AxolotlSenderKeyDistributionMessage: raw,
		}}
	}
	for i, raw := range [][]byte{nil, {}, {0x33}, {0x33, 0x08, 0x01, 0x10, 0x00, 0x1a, 0x01, 0x00, 0x22, 0x00}, make([]byte, 200)} {
		b.ana.Send("X"+string(rune('a'+i)), skdm(raw), whatsappwebtest.Said{Group: "120363000000000001"}).Acked()
	}
	for i, kind := range []string{"msg", "pkmsg", "skmsg"} {
		for j, raw := range [][]byte{{}, {0x33}, {0x33, 0x0a, 0x00, 0x10, 0x01, 0x22, 0x01, 0x00, 1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 100)} {
			b.ana.Raw(string(rune('p'+i))+string(rune('a'+j)), kind, raw)
		}
	}
	b.ana.Say("M2", "still there?")
	if in := b.heard(2); in.Text != "still there?" {
		t.Errorf("received %+v", in)
	}
}
