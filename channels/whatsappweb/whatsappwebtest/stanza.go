package whatsappwebtest

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
)

// take handles what the bot says.
func (c *conn) take(n *waBinary.Node) {
	switch n.Tag {
	case "iq":
		c.iq(n)
	case "message":
		c.message(n)
	case "receipt":
		c.receipt(n)
	case "ack":
		c.ack(n)
	case "presence":
		c.s.shows(fmt.Sprint(n.Attrs["type"]))
	case "chatstate":
		to, ok := n.Attrs["to"].(types.JID)
		if kids := n.GetChildren(); !ok || len(kids) != 1 {
			c.s.wrongf("chatstate: %s", n.XMLString())
		} else {
			if to.Server == types.DefaultUserServer {
				c.s.wrongf("%s goes to the number %s, whose chat has the LID", kids[0].Tag, to)
			}
			c.s.shows(kids[0].Tag + ":" + to.User)
		}
	default:
		c.s.wrongf("unknown stanza %s", n.Tag)
	}
}

func (s *Server) shows(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presence = append(s.presence, what)
	s.note()
}

// Stanza is something that the server delivers until it is acknowledged.
type Stanza struct {
	s        *Server
	id       string
	node     waBinary.Node
	device   *Device // that can read it; nil is each
	done     bool
	forsaken bool   // its device was unlinked
	again    func() // the phone's answer where the bot can't decrypt it
	raw      bool   // no encrypted message: the bot is right to ask for it again
	conn     *conn  // that it was delivered on last
	times    int
}

// deliver sends a stanza to the bot now, or as soon as it is there.
func (s *Server) deliver(st *Stanza) {
	s.line.Lock()
	defer s.line.Unlock()
	s.mu.Lock()
	s.queue = append(s.queue, st)
	if st.device != nil && st.device != s.device {
		st.done, st.forsaken = true, true
		s.note()
		s.mu.Unlock()
		return
	}
	c := s.conn
	ready := c != nil && c.active
	if ready {
		st.conn = c
		st.times++
	}
	s.note()
	s.mu.Unlock()
	if ready {
		c.send(st.node)
	}
}

// again delivers a stanza once more although it was acknowledged, as WhatsApp
// does after an acknowledgement was lost.
func (s *Server) again(st *Stanza) {
	s.mu.Lock()
	st.done = false
	for i, q := range s.queue {
		if q == st {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	s.deliver(st)
}

// Acked waits until the bot has acknowledged the stanza, or until the
// connection it was delivered on is over without that.
func (st *Stanza) Acked() bool {
	if !st.s.wait(func() bool { return st.done || st.conn != nil && st.s.conn != st.conn }) {
		return false
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.done
}

// WaitAcked waits until the bot has acknowledged it, on whichever connection.
func (st *Stanza) WaitAcked() bool { return st.s.wait(func() bool { return st.done }) }

// Done tells whether it was acknowledged.
func (st *Stanza) Done() bool {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.done
}

// Forsaken tells whether the device that it was encrypted for was unlinked
// before it was acknowledged: nobody delivers it any more.
func (st *Stanza) Forsaken() bool {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.forsaken
}

// Times is how often it was delivered.
func (st *Stanza) Times() int {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.times
}

// activate gives the bot what it hasn't acknowledged, oldest first.
func (c *conn) activate() {
	s := c.s
	s.line.Lock() // what is delivered meanwhile comes behind
	defer s.line.Unlock()
	s.mu.Lock()
	var waiting []*Stanza
	for _, st := range s.queue {
		if !st.done {
			st.conn = c
			st.times++
			waiting = append(waiting, st)
		}
	}
	c.active = true
	s.note()
	s.mu.Unlock()
	if len(waiting) > 0 {
		c.send(waBinary.Node{Tag: "ib", Attrs: waBinary.Attrs{"from": types.ServerJID}, Content: []waBinary.Node{{
			Tag: "offline_preview", Attrs: waBinary.Attrs{"count": strconv.Itoa(len(waiting)), "message": strconv.Itoa(len(waiting)), "appdata": "0", "notification": "0", "receipt": "0"},
		}}})
	}
	for _, st := range waiting {
		n := st.node
		n.Attrs = waBinary.Attrs{"offline": "0"}
		maps.Copy(n.Attrs, st.node.Attrs)
		c.send(n)
	}
	c.send(waBinary.Node{Tag: "ib", Attrs: waBinary.Attrs{"from": types.ServerJID}, Content: []waBinary.Node{{
		Tag: "offline", Attrs: waBinary.Attrs{"count": strconv.Itoa(len(waiting))},
	}}})
}

// receipt is the bot's word on a message that it got.
func (c *conn) receipt(n *waBinary.Node) {
	id, _ := n.Attrs["id"].(string)
	kind, _ := n.Attrs["type"].(string)
	c.send(waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{"class": "receipt", "id": id, "from": n.Attrs["to"]}})
	s := c.s
	switch kind {
	case "", "sender", "peer_msg", "inactive":
		s.settle(id, "message", "a receipt")
	case "hist_sync": // the owner's phone is told that its history came
	case "read", "read-self":
		c.read(n, id)
	case "retry":
		s.mu.Lock()
		raw := false
		var again func()
		for _, st := range s.queue {
			raw = raw || st.id == id && st.raw
			if st.id == id && st.again != nil {
				raw, again, st.again = true, st.again, nil
			}
		}
		if !raw {
			s.wrong = append(s.wrong, "the bot can't decrypt "+id)
		}
		s.note()
		s.mu.Unlock()
		if again != nil {
			go again()
		}
	default:
		s.wrongf("a receipt of type %q", kind)
	}
}

// read notes what was marked as read.
func (c *conn) read(n *waBinary.Node, id string) {
	to, _ := n.Attrs["to"].(types.JID)
	if to.Server == types.GroupServer && n.Attrs["participant"] == nil {
		c.s.wrongf("%s is marked as read in a group, and not whose it is", id)
	}
	c.s.shows("read:" + id)
	list := n.GetChildByTag("list")
	for _, item := range list.GetChildren() {
		c.s.shows(fmt.Sprint("read:", item.Attrs["id"]))
	}
}

func (c *conn) ack(n *waBinary.Node) {
	id, _ := n.Attrs["id"].(string)
	class, _ := n.Attrs["class"].(string)
	if e := n.Attrs["error"]; e != nil {
		c.s.wrongf("the bot refused %s %s: %v", class, id, e)
	}
	if id != codeNotification {
		c.s.settle(id, class, "an ack")
	}
}

func (s *Server) settle(id, class, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := false
	for _, st := range s.queue {
		if st.id == id && st.node.Tag == class {
			known = true
			if !st.done && st.times > 0 {
				st.done = true
				s.note()
				return
			}
		}
	}
	if known { // acknowledged on another connection as well
		return
	}
	s.wrong = append(s.wrong, fmt.Sprintf("%s of %s %q, which was never delivered", how, class, id))
}

// message takes what the bot sends.
func (c *conn) message(n *waBinary.Node) {
	s := c.s
	id, _ := n.Attrs["id"].(string)
	to, ok := n.Attrs["to"].(types.JID)
	if !ok || id == "" || n.Attrs["type"] == nil {
		s.wrongf("a message without id, to or type: %s", n.XMLString())
		return
	}
	retry := n.Attrs["device_fanout"] == "false" || n.Attrs["participant"] != nil
	f, failed := Fault{}, false
	s.mu.Lock()
	if !retry {
		s.calls++
		if len(s.faults) > 0 {
			f, failed = s.faults[0], true
			s.faults = s.faults[1:]
		}
	}
	s.mu.Unlock()
	ack := waBinary.Attrs{"class": "message", "id": id, "from": to, "t": time.Now().Unix()}
	if failed && f.Code != 0 {
		ack["error"] = strconv.Itoa(f.Code)
		c.send(waBinary.Node{Tag: "ack", Attrs: ack})
		return
	}
	if failed && f.Lost && !f.Taken {
		c.reset()
		return
	}
	if err := c.open(n, id, to, retry); err != nil {
		s.wrongf("message %s: %v", id, err)
		ack["error"] = "479"
	}
	if failed && f.Lost {
		c.reset()
		return
	}
	c.send(waBinary.Node{Tag: "ack", Attrs: ack})
}

// open decrypts a message for each of its readers.
func (c *conn) open(n *waBinary.Node, id string, to types.JID, retry bool) error {
	s := c.s
	if to.Server == types.GroupServer {
		return c.groupMessage(n, id, to)
	}
	if n.Attrs["category"] == "peer" { // for the owner's phone alone
		_, err := s.owner.decrypt(c.device, n.GetChildByTag("enc"))
		return err
	}
	p := s.person(to)
	if p == nil || to.Device != 0 {
		return fmt.Errorf("there is nobody at %s", to)
	}
	if to.Server != types.HiddenUserServer {
		// The server takes it and delivers it to nobody.
		s.wrongf("message %s goes to the number of %s, whose chat has the LID: it is dropped", id, p.Name)
		return nil
	}
	if retry {
		enc := n.GetChildByTag("enc")
		m, err := p.ends.decrypt(c.device, enc)
		if err == nil {
			p.shown(id, m)
		}
		return err
	}
	parts := n.GetChildByTag("participants")
	seen := map[string]bool{}
	withKeys := false
	for _, t := range parts.GetChildren() {
		jid, ok := t.Attrs["jid"].(types.JID)
		if !ok || t.Tag != "to" || jid.Device != 0 {
			return fmt.Errorf("a participant that doesn't exist: %v", t.Attrs["jid"])
		}
		enc := t.GetChildByTag("enc")
		withKeys = withKeys || enc.Attrs["type"] == "pkmsg"
		switch jid.User {
		case s.Phone, s.LID:
			m, err := s.owner.decrypt(c.device, enc)
			if err != nil {
				return fmt.Errorf("for the owner's phone: %w", err)
			}
			sent := m.GetDeviceSentMessage()
			if sent.GetDestinationJID() != to.String() {
				return fmt.Errorf("the owner's phone was told of another chat: %q", sent.GetDestinationJID())
			}
			seen["owner"] = true
			s.mu.Lock()
			s.peer = append(s.peer, textOf(sent.GetMessage()))
			s.mu.Unlock()
		case p.Phone, p.LID:
			m, err := p.ends.decrypt(c.device, enc)
			if err != nil {
				return err
			}
			seen["person"] = true
			p.shown(id, m)
		default:
			return fmt.Errorf("a participant that isn't in the chat: %s", jid)
		}
	}
	if withKeys && !has(n, "device-identity") {
		return errors.New("a first message without the device's identity")
	}
	if !seen["owner"] || !seen["person"] {
		return fmt.Errorf("it isn't for all devices of the chat: %v", seen)
	}
	return nil
}

func textOf(m *waE2E.Message) string {
	if m.Conversation != nil {
		return m.GetConversation()
	}
	if e := m.GetEditedMessage().GetMessage().GetProtocolMessage(); e != nil {
		return "edit: " + textOf(e.GetEditedMessage())
	}
	return m.GetExtendedTextMessage().GetText()
}

// Fault is a way in which the next message of the bot fails.
type Fault struct {
	// Code is the server's error.
	Code int
	// Lost drops the connection instead of an answer; Taken says that the
	// message had arrived.
	Lost, Taken bool
}

// Fail lets the next messages of the bot fail, one each.
func (s *Server) Fail(f ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f...)
}
