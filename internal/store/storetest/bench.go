package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

// channel is the instance that all tests speak through.
const channel = "web"

// bench is one test's database with short words for what its neighbours do.
type bench struct {
	*testing.T
	Opened
	ids atomic.Int64
}

// reopen ends the store and opens it again.
func (b *bench) reopen(crash bool) {
	b.Helper()
	b.Store = b.Reopen(crash)
}

func (b *bench) id() int64 { return b.ids.Add(1) }

// alone is the place of a private chat with one person of the same name.
func alone(chat string) inbox.Place {
	key := channel + ":" + chat
	return inbox.Place{Channel: channel, Lane: key, ChatKey: key, Chat: channels.Chat{ID: channels.ChatID(chat)}}
}

// group is a group whose session all share.
func group(chat string) inbox.Place {
	p := alone(chat)
	p.Chat.Group = true
	return p
}

// groupUser is a group where each person has a session.
func groupUser(chat, user string) inbox.Place {
	p := group(chat)
	p.Lane += ":" + user
	return p
}

// text is a message of somebody. Its class is worked out as inbox would.
func (b *bench) text(p inbox.Place, from, text string) inbox.Delivery {
	id := fmt.Sprint("m", b.id())
	class := confirm.Other
	switch text {
	case "yes":
		class = confirm.Yes
	case "no":
		class = confirm.No
	}
	return inbox.Delivery{
		Place: p, DedupeKey: p.ChatKey + ":message:" + id, Answers: true, Class: class, Routed: true,
		In: channels.Inbound{
			Kind: channels.KindMessage, ID: channels.MessageID(id), Chat: p.Chat,
			From: channels.User{ID: channels.UserID(from)}, Text: text,
		},
	}
}

// press is a press of the question's button for value.
func (b *bench) press(q asked, p inbox.Place, from, value string) inbox.Delivery {
	id := fmt.Sprint("p", b.id())
	return inbox.Delivery{
		Place: p, DedupeKey: p.ChatKey + ":press:" + id,
		In: channels.Inbound{
			Kind: channels.KindPress, ID: channels.MessageID(id), Chat: p.Chat,
			From: channels.User{ID: channels.UserID(from)}, Button: confirm.ButtonID(q.Token, value),
		},
	}
}

func (b *bench) accept(d inbox.Delivery) inbox.Accepted {
	b.Helper()
	acc, err := b.Store.Accept(b.Context(), d)
	if err != nil {
		b.Fatalf("accepting %q: %v", d.In.Text, err)
	}
	return acc
}

// say accepts a text and expects what becomes of it.
func (b *bench) say(p inbox.Place, from, text string, want inbox.Outcome) inbox.Accepted {
	b.Helper()
	acc := b.accept(b.text(p, from, text))
	if acc.Outcome != want {
		b.Fatalf("text %q: outcome %q, want %q", text, acc.Outcome, want)
	}
	return acc
}

// command carries a chat command out.
func (b *bench) command(p inbox.Place, action inbox.Action, say string) inbox.Accepted {
	b.Helper()
	acc, err := b.Store.Command(b.Context(), b.commanding(p, action, say))
	if err != nil {
		b.Fatalf("command %s: %v", action, err)
	}
	return acc
}

func (b *bench) commanding(p inbox.Place, action inbox.Action, say string) inbox.Command {
	d := b.text(p, "ana", "/"+string(action))
	return inbox.Command{
		Place: p, DedupeKey: d.DedupeKey, In: d.In, Action: action, Lang: "es",
		Say: []channels.Part{{Chat: p.Chat, Text: say}}, SayNothing: []channels.Part{{Chat: p.Chat, Text: "nothing to do"}},
	}
}

// claim takes the lane, which must be free and have work.
func (b *bench) claim(lane string) lease.Lane {
	b.Helper()
	l, ok, err := b.Store.Claim(b.Context(), lane)
	if err != nil || !ok {
		b.Fatalf("claiming %s: ok %v, error %v", lane, ok, err)
	}
	return l
}

// idle expects that the lane has no work to claim.
func (b *bench) idle(lane string) {
	b.Helper()
	if _, ok, err := b.Store.Claim(b.Context(), lane); ok || err != nil {
		b.Fatalf("claiming idle lane %s: ok %v, error %v", lane, ok, err)
	}
}

func (b *bench) release(l lease.Lane) {
	b.Helper()
	if err := b.Store.Release(b.Context(), l); err != nil {
		b.Fatalf("releasing %s: %v", l.Key, err)
	}
}

func (b *bench) load(l lease.Lane) turn.Work {
	b.Helper()
	w, err := b.Store.Load(b.Context(), l, 100)
	if err != nil {
		b.Fatalf("loading %s: %v", l.Key, err)
	}
	return w
}

// peek loads the lane without working on it.
func (b *bench) peek(lane string) turn.Work {
	b.Helper()
	l := b.claim(lane)
	defer b.release(l)
	return b.load(l)
}

// work is a turn in somebody's hands.
type work struct {
	lease.Lane
	turn.Work
	place    inbox.Place
	id       string // "" until it is saved
	from, to int64
	user     channels.UserID
}

// begin claims the lane and starts or goes on with its turn.
func (b *bench) begin(p inbox.Place) work {
	b.Helper()
	l := b.claim(p.Lane)
	w := work{Lane: l, Work: b.load(l), place: p}
	switch {
	case w.Saved != nil:
		w.id, w.from, w.to, w.user = w.Saved.ID, w.Saved.SeqFrom, w.Saved.SeqTo, w.Saved.Input.From.ID
	case len(w.Queue) > 0:
		w.from, w.to, w.user = w.Queue[0].Seq, w.Queue[0].Seq, w.Queue[0].In.From.ID
	default:
		b.Fatalf("lane %s has neither turn nor message", p.Lane)
	}
	return w
}

// turnID gives the turn an id.
func (b *bench) turnID(w *work) string {
	if w.id == "" {
		w.id = fmt.Sprint("turn-", b.id())
	}
	return w.id
}

// step is a plain T3 of the turn.
func (b *bench) step(w *work) turn.Step {
	id := b.turnID(w)
	return turn.Step{
		TurnID: id, SeqFrom: w.from, SeqTo: w.to, Version: 1, Journal: json.RawMessage(`{"n":1}`),
		UserLines: []string{"hello"}, Own: true,
	}
}

func (b *bench) commit(w work, st turn.Step) turn.Stepped {
	b.Helper()
	out, err := b.Store.Step(b.Context(), w.Lane, st)
	if err != nil {
		b.Fatalf("committing step: %v", err)
	}
	return out
}

// finish is what ends the turn with an answer; without one it says nothing.
func (w work) finish(answer string) turn.Finish {
	f := turn.Finish{
		TurnID: w.id, SeqTo: w.to, State: "done", Own: true,
		Lines: []turn.Line{{Role: "user", Text: "hello"}},
	}
	if answer != "" {
		f.Say = []channels.Part{{Chat: w.place.Chat, Text: answer}}
		f.Lines = append(f.Lines, turn.Line{Role: "assistant", Text: answer})
	}
	return f
}

func (b *bench) end(w work, answer string) turn.Finished {
	b.Helper()
	out, err := b.Store.Finish(b.Context(), w.Lane, w.finish(answer))
	if err != nil {
		b.Fatalf("finishing turn: %v", err)
	}
	return out
}

// asked is a question and the turn that asks it.
type asked struct {
	*confirm.Wait
	work
	turn.Stepped
}

// timeout is that of all questions here.
const timeout = 2 * time.Minute

// question1 is the T3 of a question in one part.
func (b *bench) question1(w *work) turn.Step {
	st := b.step(w)
	token := fmt.Sprintf("token-%08d", b.id())
	st.Wait = &confirm.Wait{
		Token: token, Lane: w.place.Lane, ChatKey: w.place.ChatKey, Chat: w.place.Chat, Turn: w.id, Tool: "place_order",
		Requester: w.user, Solo: !w.place.Chat.Group || w.place.Lane != w.place.ChatKey, Timeout: timeout, Digest: "digest",
		CallID: fmt.Sprint(w.id, ".1.", b.id()),
		Closing: &confirm.Closing{
			Text:   "Place order?",
			Choice: map[string]string{confirm.ValueYes: "→ Yes", confirm.ValueNo: "→ No"},
		},
	}
	st.Calls = []turn.Call{{ID: st.Wait.CallID, Tool: "place_order", Args: json.RawMessage(`{}`), Effect: tool.Unsafe}}
	st.Say = []channels.Part{{Chat: w.place.Chat, Text: "Place order?", Buttons: []channels.Button{
		{ID: confirm.ButtonID(token, confirm.ValueYes), Label: "Yes", Value: confirm.ValueYes},
	}}}
	return st
}

// ask lets the turn ask, in one part unless change says otherwise.
func (b *bench) ask(w work, change ...func(*turn.Step)) asked {
	b.Helper()
	st := b.question1(&w)
	for _, c := range change {
		c(&st)
	}
	out := b.commit(w, st)
	if len(out.Texts) > 0 {
		b.Fatalf("the question was not asked: %d texts wait", len(out.Texts))
	}
	return asked{Wait: st.Wait, work: w, Stepped: out}
}

// question brings a chat to a question that was shown.
func (b *bench) question(p inbox.Place, from string, change ...func(*turn.Step)) asked {
	b.Helper()
	b.say(p, from, "order a cake", inbox.Queued)
	q := b.ask(b.begin(p), change...)
	b.send(p)
	return q
}

// next is T7, expecting an entry.
func (b *bench) next(p inbox.Place) outbox.Entry {
	b.Helper()
	e, ok, due, err := b.Store.Next(b.Context(), p.ChatKey)
	if err != nil || !ok {
		b.Fatalf("next entry of %s: ok %v, due %v, error %v", p.ChatKey, ok, due, err)
	}
	return e
}

// silent expects that nothing is to be sent now.
func (b *bench) silent(p inbox.Place) {
	b.Helper()
	e, ok, _, err := b.Store.Next(b.Context(), p.ChatKey)
	if ok || err != nil {
		b.Fatalf("next entry of a silent chat: %q, ok %v, error %v", e.Part.Text, ok, err)
	}
}

// platformID is what the platform calls the entry.
func platformID(e outbox.Entry) channels.MessageID {
	return channels.MessageID(fmt.Sprint("sent-", e.Seq))
}

// messageID is what the platform calls the question, where it has one part.
func messageID(q asked) channels.MessageID { return platformID(outbox.Entry{Seq: q.Seq}) }

// entryOf is an entry that was born sending, as its process knows it.
func entryOf(p inbox.Place, seq int64, text string) outbox.Entry {
	return outbox.Entry{
		ChatKey: p.ChatKey, Channel: channel, Seq: seq, Kind: outbox.Send, Part: channels.Part{Chat: p.Chat, Text: text}, Attempts: 1,
	}
}

// sent is T8.
func (b *bench) sent(e outbox.Entry) (outbox.Entry, bool) {
	b.Helper()
	next, ok, err := b.Store.Sent(b.Context(), e, channels.Receipt{ID: platformID(e)})
	if err != nil {
		b.Fatalf("entry %d was sent: %v", e.Seq, err)
	}
	return next, ok
}

// send empties the chat's outbox and returns what was sent, in order.
func (b *bench) send(p inbox.Place) (all []outbox.Entry) {
	b.Helper()
	e, ok, _, err := b.Store.Next(b.Context(), p.ChatKey)
	if err != nil {
		b.Fatalf("next entry: %v", err)
	}
	for ok {
		all = append(all, e)
		e, ok = b.sent(e)
	}
	return all
}

// texts are those of entries.
func texts(all []outbox.Entry) []string {
	out := []string{}
	for _, e := range all {
		out = append(out, e.Part.Text)
	}
	return out
}

// log reads the chat's whole log and checks its numbers.
func (b *bench) log(p inbox.Place) []channels.LogEntry {
	b.Helper()
	all, err := b.Store.Log(b.Context(), p.ChatKey, 0, 100_000)
	if err != nil {
		b.Fatalf("reading log: %v", err)
	}
	for i, e := range all {
		if e.N != int64(i+1) {
			b.Fatalf("log entry %d has number %d", i+1, e.N)
		}
	}
	return all
}

// events are the types of the audit's events, oldest first.
func (b *bench) events() (types []string) {
	b.Helper()
	rows, err := b.Store.After(b.Context(), 0, 100_000)
	if err != nil {
		b.Fatalf("reading audit: %v", err)
	}
	for _, r := range rows {
		var e struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(r.Event, &e); err != nil {
			b.Fatalf("decoding audit event %d: %v", r.ID, err)
		}
		types = append(types, e.Type)
	}
	return types
}

// lost expects lease.ErrLost.
func (b *bench) lost(doing string, err error) {
	b.Helper()
	if !errors.Is(err, lease.ErrLost) {
		b.Errorf("%s with a stale fence: error %v, want lease.ErrLost", doing, err)
	}
}

// check fails the test unless got is want.
func check[T comparable](b *bench, what string, got, want T) {
	b.Helper()
	if got != want {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}
