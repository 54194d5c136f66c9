package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/locale"
)

func hostileTests() []test {
	return []test{
		{"G1_nothing_in_a_message_fails_for_ever", hostileMessages},
		{"G1_nothing_in_a_report_fails_for_ever", hostileReports},
	}
}

// mute is an adapter that nothing is sent by.
type mute struct{}

func (mute) Capabilities(channels.Chat) channels.Capabilities { return channels.Capabilities{} }
func (mute) Run(context.Context, channels.Sink) error         { return nil }
func (mute) Send(context.Context, channels.Part) (channels.Receipt, error) {
	return channels.Receipt{}, nil
}

// sink is the way of a channel's messages into the store, as the program has
// it.
func (b *bench) sink(p inbox.Policy) channels.Sink {
	b.Helper()
	texts, err := locale.New("en", nil)
	if err != nil {
		b.Fatal(err)
	}
	words, err := confirm.NewWords(confirm.DefaultYes(), confirm.DefaultNo(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	in, err := inbox.New(inbox.Config{Channels: map[string]inbox.Policy{channel: p}}, inbox.Deps{Store: b.Store, Words: words, Texts: texts})
	if err != nil {
		b.Fatal(err)
	}
	return in.Sink(channel, mute{})
}

// hostile are texts that some part of a database, of JSON or of an index
// doesn't take.
func hostile() map[string]string {
	long := ""
	for i := 0; len(long) < 1<<14; i++ {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		long += base64.RawStdEncoding.EncodeToString(sum[:])
	}
	colons := strings.Join(strings.Split(long[:256], ""), ":")
	return map[string]string{
		"NUL": "a\x00b", "only NUL": "\x00", "not UTF-8": "a\xff\xfeb", "half a surrogate": "a\xed\xa0\x80b", "half a rune": "a\xe2\x82",
		"private use": "a\ue000b", "not a character": "a\uffffb", "quotes": `a'"\b`, "empty": "",
		"long": long, "as long as an id": long[:512], "long when escaped": colons,
	}
}

// fields are the places of a message that a text can be in.
func fields() map[string]func(in *channels.Inbound, v string) {
	return map[string]func(in *channels.Inbound, v string){
		"message":      func(in *channels.Inbound, v string) { in.ID = channels.MessageID(v) },
		"chat":         func(in *channels.Inbound, v string) { in.Chat.ID = channels.ChatID(v) },
		"thread":       func(in *channels.Inbound, v string) { in.Chat.Thread = channels.ThreadID(v) },
		"person":       func(in *channels.Inbound, v string) { in.From.ID = channels.UserID(v) },
		"name":         func(in *channels.Inbound, v string) { in.From.Name = v },
		"language":     func(in *channels.Inbound, v string) { in.From.Lang = v },
		"claim":        func(in *channels.Inbound, v string) { in.From.Claims = map[string]string{"phone": v} },
		"claim's name": func(in *channels.Inbound, v string) { in.From.Claims = map[string]string{v: "1"} },
		"claims": func(in *channels.Inbound, v string) {
			in.From.Claims = map[string]string{}
			for i := range 1000 {
				in.From.Claims[fmt.Sprint(i)] = v
			}
		},
		"text":    func(in *channels.Inbound, v string) { in.Text += v },
		"button":  func(in *channels.Inbound, v string) { in.Button = channels.ButtonID(v + ".y") },
		"edit":    func(in *channels.Inbound, v string) { in.EditStamp = v },
		"answers": func(in *channels.Inbound, v string) { in.ReplyTo = channels.MessageID(v) },
		"media": func(in *channels.Inbound, v string) {
			for range 30 {
				in.Media = append(in.Media, channels.Media{Type: v, MIME: v, Name: v, Ref: v, Size: -1})
			}
		},
		"all ids": func(in *channels.Inbound, v string) {
			in.ID, in.Chat.ID, in.Chat.Thread, in.From.ID = channels.MessageID(v), channels.ChatID(v), channels.ThreadID(v), channels.UserID(v)
		},
	}
}

// times are those that JSON doesn't take, among others.
func times() map[string]time.Time {
	return map[string]time.Time{
		"far": time.Unix(1<<40, 0), "farthest": time.Unix(1<<62, 0), "before all": time.Unix(-1<<40, 0), "year 0": time.Date(0, 5, 1, 0, 0, 0, 0, time.UTC),
		"odd zone": time.Date(2031, 5, 1, 0, 0, 0, 0, time.FixedZone("", 30*60*60)), "epoch": time.Unix(0, 0),
		"at the end": time.Date(9999, 12, 31, 23, 59, 0, 0, time.FixedZone("", -5*60*60)),
	}
}

// kinds are what people can do.
func kinds() map[string]channels.Inbound {
	return map[string]channels.Inbound{
		"text":    {Kind: channels.KindMessage, Text: "hello "},
		"/lang":   {Kind: channels.KindMessage, Text: "/lang "},
		"/cancel": {Kind: channels.KindMessage, Text: "/cancel "},
		"picture": {Kind: channels.KindMessage, Media: []channels.Media{{Type: "image"}}},
		"press":   {Kind: channels.KindPress, Button: "token.y"},
		"edit":    {Kind: channels.KindEdit, Text: "hello "},
	}
}

// hostileMessages: whatever a message holds, it is taken, or refused for good.
// One that failed otherwise would come again for ever, and block those behind
// it.
func hostileMessages(b *bench) {
	sinks := map[string]channels.Sink{"let in": b.sink(inbox.Policy{All: true, Shared: true}), "stranger": b.sink(inbox.Policy{Pair: true})}
	lanes := map[string]bool{}
	deliver := func(what string, sink channels.Sink, in channels.Inbound) {
		b.Helper()
		err := sink.Accept(b.Context(), in)
		if refused, ok := errors.AsType[*channels.RefusedError](err); err != nil && (!ok || refused.Reason == channels.RefusedUnavailable) {
			b.Errorf("%s: %v", what, err)
		}
		lanes[channel+":"+string(in.Chat.ID)] = true
	}
	n := 0
	fill := func(in channels.Inbound) channels.Inbound {
		n++
		in.ID, in.Chat.ID, in.Chat.Group, in.From.ID = channels.MessageID(fmt.Sprint("m", n)), channels.ChatID(fmt.Sprint("c", n)), n%2 == 0, "ana"
		return in
	}
	for who, sink := range sinks {
		for kind, in := range kinds() {
			for bad, v := range hostile() {
				for where, put := range fields() {
					in := fill(in)
					put(&in, v)
					deliver(fmt.Sprintf("%s of one %s, %s: %s", kind, who, where, bad), sink, in)
				}
			}
			for bad, at := range times() {
				in := fill(in)
				in.At = at
				deliver(fmt.Sprintf("%s of one %s, time: %s", kind, who, bad), sink, in)
			}
		}
	}
	// What was taken can be worked on.
	worked := 0
	for key := range lanes {
		l, ok, err := b.Store.Claim(b.Context(), key)
		if err != nil {
			b.Errorf("claiming %.40q: %v", key, err)
		}
		if !ok {
			continue
		}
		w := b.load(l)
		if len(w.Queue) == 0 {
			b.Errorf("lane %.40q has nothing", key)
		}
		b.release(l)
		worked++
	}
	if worked < 100 {
		b.Errorf("%d lanes have work", worked)
	}
}

func hostileReports(b *bench) {
	sink, ok := b.sink(inbox.Policy{}).(channels.StatusSink)
	if !ok {
		b.Fatal("the inbox takes no reports")
	}
	for bad, v := range hostile() {
		p := alone(fmt.Sprint("c", b.id()))
		b.question(p, "ana")
		for what, u := range map[string]channels.StatusUpdate{
			"chat": {Chat: channels.Chat{ID: channels.ChatID(v)}, ID: "sent-1"}, "id": {Chat: p.Chat, ID: channels.MessageID(v)},
			"key": {Chat: p.Chat, Key: v}, "key of a chat": {Chat: p.Chat, Key: channel + ":" + v + "#1"},
			"cause": {Chat: p.Chat, ID: "sent-1", Err: &channels.SendError{Class: channels.PermanentMessage, Err: errors.New(v)}},
		} {
			u.State = channels.Undelivered
			if err := sink.Status(b.Context(), u); err != nil {
				b.Errorf("%s: %s: %v", what, bad, err)
			}
		}
	}
}
