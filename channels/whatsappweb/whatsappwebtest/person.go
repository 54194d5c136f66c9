package whatsappwebtest

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// Person is somebody with a phone.
type Person struct {
	// Phone and LID are digits.
	Phone, LID, Name string

	s    *Server
	ends *ends

	messages []Message
	copies   int
}

// Message is one of the bot's, as a person sees it now.
type Message struct {
	ID, Text string
	// Edits counts how often it was changed, and Quote is what it answers to.
	Edits int
	Quote string
}

// Person makes somebody, or returns who has the number.
func (s *Server) Person(phone, lid, name string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.people[phone]; p != nil {
		return p
	}
	p := &Person{Phone: phone, LID: lid, Name: name, s: s, ends: newEnds()}
	s.people[phone], s.people[lid] = p, p
	return p
}

// PN is the person's address by number.
func (p *Person) PN() types.JID { return types.NewJID(p.Phone, types.DefaultUserServer) }

// Hidden is the person's address by LID.
func (p *Person) Hidden() types.JID { return types.NewJID(p.LID, types.HiddenUserServer) }

// Said is how a message is delivered. The zero value is as it is today: from
// the LID, with the number beside it.
type Said struct {
	// FromPhone delivers it from the number, Bare without the other address.
	FromPhone, Bare bool
	// Group is the group's id; the message is written there.
	Group string
	// At is when it was written; the zero time is now.
	At time.Time
	// Attrs are further attributes of the stanza.
	Attrs map[string]any
}

// Say writes a text to the bot.
func (p *Person) Say(id, text string) *Stanza {
	return p.Send(id, &waE2E.Message{Conversation: new(text)}, Said{})
}

// Send writes anything to the bot. It waits for a device with keys, and panics
// where none comes.
func (p *Person) Send(id string, m *waE2E.Message, how Said) *Stanza {
	from, alt, altName := p.Hidden(), p.PN(), "sender_pn"
	if how.FromPhone {
		from, alt, altName = alt, from, "sender_lid"
	}
	attrs := waBinary.Attrs{"from": from, altName: alt}
	if how.Bare {
		delete(attrs, altName)
	}
	if how.Group != "" {
		attrs = waBinary.Attrs{"from": p.s.Group(how.Group, p).JID(), "participant": from, "addressing_mode": "lid", "participant_pn": alt}
		if how.FromPhone {
			attrs["addressing_mode"], attrs["participant_lid"] = "pn", alt
			delete(attrs, "participant_pn")
		}
	}
	return p.s.write(p.ends, id, p.Name, attrs, m, how)
}

// write encrypts a message for the bot and delivers it.
func (s *Server) write(by *ends, id, name string, attrs waBinary.Attrs, m *waE2E.Message, how Said) *Stanza {
	st := s.sealed(by, id, name, attrs, m, how)
	s.deliver(st)
	return st
}

// sealed encrypts one.
func (s *Server) sealed(by *ends, id, name string, attrs waBinary.Attrs, m *waE2E.Message, how Said) *Stanza {
	var d *Device
	if !s.wait(func() bool { d = s.device; return d != nil }) {
		panic("whatsappwebtest: no device is linked")
	}
	if !s.wait(func() bool { return d.keyCount() > 0 }) {
		panic("whatsappwebtest: the bot never uploaded its keys")
	}
	enc, err := by.envelope(d, attrs["from"], m)
	if err != nil {
		panic(fmt.Sprintf("whatsappwebtest: encrypting %s: %v", id, err))
	}
	at := how.At
	if at.IsZero() {
		at = time.Now()
	}
	attrs["id"], attrs["t"], attrs["notify"], attrs["type"] = id, strconv.FormatInt(at.Unix(), 10), name, "text"
	maps.Copy(attrs, how.Attrs)
	return &Stanza{s: s, id: id, device: d, node: waBinary.Node{Tag: "message", Attrs: attrs, Content: enc}}
}

// envelope encrypts a message as is usual where it is written.
func (e *ends) envelope(to *Device, chat any, m *waE2E.Message) ([]waBinary.Node, error) {
	if jid, ok := chat.(types.JID); ok && jid.Server == types.GroupServer && m.SenderKeyDistributionMessage == nil {
		return e.groupEncrypt(to, jid.String(), m)
	}
	one, err := e.encrypt(to, m)
	return []waBinary.Node{one}, err
}

// Again delivers a message once more, the same ciphertext.
func (st *Stanza) Again() { st.s.again(st) }

// Garbled writes a text that the bot can't decrypt. When it asks for it again
// the person's phone begins a new session and sends it properly.
func (p *Person) Garbled(id, text string) *Stanza {
	m := &waE2E.Message{Conversation: new(text)}
	st := p.s.sealed(p.ends, id, p.Name, waBinary.Attrs{"from": p.Hidden(), "sender_pn": p.PN()}, m, Said{})
	enc := st.node.GetChildren()
	raw, _ := enc[0].Content.([]byte)
	raw[len(raw)-1]++
	st.again = func() {
		p.ends.forget()
		p.Send(id, m, Said{})
	}
	p.s.deliver(st)
	return st
}

// Newsletter is a post in a channel that the account follows.
func (s *Server) Newsletter(id, text string) *Stanza {
	raw, err := proto.Marshal(&waE2E.Message{Conversation: new(text)})
	if err != nil {
		panic(err) // it is a text
	}
	st := &Stanza{s: s, id: id, node: waBinary.Node{
		Tag: "message", Attrs: waBinary.Attrs{
			"from": types.NewJID("120363999999999999", types.NewsletterServer), "id": id, "t": strconv.FormatInt(time.Now().Unix(), 10), "type": "text", "server_id": "7",
		},
		Content: []waBinary.Node{{Tag: "plaintext", Content: raw}},
	}}
	s.deliver(st)
	return st
}

// Repeat writes the same message once more: the same id, encrypted anew.
func (p *Person) Repeat(id, text string) *Stanza { return p.Say(id, text) }

// Edit changes a message to the bot.
func (p *Person) Edit(id, of, text string) *Stanza {
	return p.Send(id, &waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Key: &waCommon.MessageKey{ID: new(of)}, Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(),
		EditedMessage: &waE2E.Message{Conversation: new(text)},
	}}}}, Said{Attrs: map[string]any{"edit": "1"}})
}

// Says is a text in a group that may name the bot, or answer one of its
// messages.
func (g *Group) Says(p *Person, id, text string, name bool, answers string) *Stanza {
	c := &waE2E.ContextInfo{}
	if name {
		text = "@" + g.s.LID + " " + text
		c.MentionedJID = []string{g.s.lid().String()}
	}
	if answers != "" {
		c.StanzaID, c.Participant = new(answers), new(g.s.lid().String())
	}
	return p.Send(id, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: new(text), ContextInfo: c}}, Said{Group: g.ID})
}

// OwnerSays is the account's own phone, writing to somebody: the bot's device
// is told of it.
func (s *Server) OwnerSays(id string, to *Person, text string) *Stanza {
	return s.write(s.owner, id, "Owner", waBinary.Attrs{"from": s.jid(), "recipient": to.PN(), "peer_recipient_lid": to.Hidden()},
		&waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{
			DestinationJID: new(to.PN().String()), Message: &waE2E.Message{Conversation: new(text)},
		}}, Said{})
}

// OwnerSaysIn is the account's own phone, writing in a group.
func (s *Server) OwnerSaysIn(id string, g *Group, text string) *Stanza {
	return s.write(s.owner, id, "Owner", waBinary.Attrs{"from": g.JID(), "participant": s.lid(), "participant_pn": s.jid(), "addressing_mode": "lid"},
		&waE2E.Message{Conversation: new(text)}, Said{})
}

// OwnerTells is the account's own phone, telling its other devices something
// that isn't shown, such as keys or where the history is.
func (s *Server) OwnerTells(id string, m *waE2E.ProtocolMessage) *Stanza {
	return s.write(s.owner, id, "Owner", waBinary.Attrs{"from": s.jid(), "category": "peer"}, &waE2E.Message{ProtocolMessage: m}, Said{})
}

// Posts is a status that the person shows to everybody.
func (p *Person) Posts(id, text string) *Stanza {
	return p.s.write(p.ends, id, p.Name, waBinary.Attrs{"from": types.StatusBroadcastJID, "participant": p.PN(), "participant_lid": p.Hidden()},
		&waE2E.Message{Conversation: new(text)}, Said{})
}

// Receives tells the bot that its message was delivered, read, or, with
// "retry", that the person's phone can't decrypt it.
func (p *Person) Receives(id, kind string) *Stanza {
	return p.receives(id, kind, waBinary.Attrs{"from": p.Hidden(), "sender_pn": p.PN()})
}

// ReceivesIn does so of a message in a group.
func (p *Person) ReceivesIn(g *Group, id, kind string) *Stanza {
	return p.receives(id, kind, waBinary.Attrs{"from": g.JID(), "participant": p.Hidden(), "participant_pn": p.PN(), "addressing_mode": "lid"})
}

func (p *Person) receives(id, kind string, attrs waBinary.Attrs) *Stanza {
	attrs["id"], attrs["t"] = id, strconv.FormatInt(time.Now().Unix(), 10)
	var content any
	if kind != "" && kind != "delivered" {
		attrs["type"] = kind
	}
	if kind == "retry" {
		p.ends.forget()
		content = append([]waBinary.Node{{Tag: "retry", Attrs: waBinary.Attrs{"id": id, "count": "1", "t": attrs["t"], "v": "1"}}}, retryKeys(p.ends)...)
	}
	st := &Stanza{s: p.s, id: id, node: waBinary.Node{Tag: "receipt", Attrs: attrs, Content: content}}
	p.s.deliver(st)
	return st
}

// retryKeys are a phone's keys as a retry receipt has them.
func retryKeys(e *ends) []waBinary.Node {
	all := e.bundle()
	return []waBinary.Node{all[0], {Tag: "keys", Content: append([]waBinary.Node{}, all[1:]...)}}
}

// shown takes a message of the bot's, or the change of one.
func (p *Person) shown(id string, m *waE2E.Message) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	defer p.s.note()
	if e := m.GetEditedMessage().GetMessage().GetProtocolMessage(); e != nil {
		for i := range p.messages {
			if p.messages[i].ID == e.GetKey().GetID() {
				p.messages[i].Text = textOf(e.GetEditedMessage())
				p.messages[i].Edits++
				return
			}
		}
		p.s.wrong = append(p.s.wrong, "an edit of "+e.GetKey().GetID()+", which was never sent")
		return
	}
	for i := range p.messages {
		if p.messages[i].ID == id { // phones show an id once
			p.copies++
			return
		}
	}
	p.messages = append(p.messages, Message{ID: id, Text: textOf(m), Quote: m.GetExtendedTextMessage().GetContextInfo().GetStanzaID()})
}

// Shown are the bot's messages, oldest first.
func (p *Person) Shown() []Message {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return append([]Message(nil), p.messages...)
}

// Copies is how often a message came under an id that was shown before.
func (p *Person) Copies() int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.copies
}

// WaitShown waits for the n-th message, from 1, and returns it.
func (p *Person) WaitShown(n int) (Message, bool) {
	ok := p.s.wait(func() bool { return len(p.messages) >= n })
	if all := p.Shown(); ok && len(all) >= n {
		return all[n-1], true
	}
	return Message{}, false
}

// WaitCopies waits until so many copies came.
func (p *Person) WaitCopies(n int) bool { return p.s.wait(func() bool { return p.copies >= n }) }

// Raw sends the bot something that is no encrypted message, as one of kind
// msg, pkmsg or skmsg (in a group).
func (p *Person) Raw(id, kind string, content []byte) *Stanza {
	attrs := waBinary.Attrs{"from": p.Hidden(), "sender_pn": p.PN()}
	if kind == "skmsg" {
		attrs = waBinary.Attrs{"from": types.NewJID("120363000000000001", types.GroupServer), "participant": p.Hidden(), "addressing_mode": "lid", "participant_pn": p.PN()}
	}
	attrs["id"], attrs["t"], attrs["notify"], attrs["type"] = id, strconv.FormatInt(time.Now().Unix(), 10), p.Name, "text"
	st := &Stanza{s: p.s, id: id, raw: true, node: waBinary.Node{Tag: "message", Attrs: attrs, Content: []waBinary.Node{
		{Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": kind}, Content: content},
	}}}
	p.s.deliver(st)
	return st
}
