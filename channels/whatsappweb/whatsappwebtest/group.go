package whatsappwebtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.mau.fi/libsignal/groups"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/signalerror"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// Group is a group of people with the bot's account in it. What is written
// there is encrypted once, by a key of its sender's, which each device of the
// others gets beforehand.
type Group struct {
	ID string // digits

	s       *Server
	members []*Person
	changes int
	asked   int
}

// Group makes a group, or adds people to the one that has the id, without
// telling the bot.
func (s *Server) Group(id string, people ...*Person) *Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[id]
	if g == nil {
		g = &Group{ID: id, s: s}
		s.groups[id] = g
	}
	for _, p := range people {
		if !slices.Contains(g.members, p) {
			g.members = append(g.members, p)
		}
	}
	return g
}

// JID is the group's address.
func (g *Group) JID() types.JID { return types.NewJID(g.ID, types.GroupServer) }

// Asked is how often the bot asked who is in the group.
func (g *Group) Asked() int {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	return g.asked
}

// Join adds somebody, and tells the bot.
func (g *Group) Join(p *Person) *Stanza {
	g.s.Group(g.ID, p)
	return g.tell("add", p)
}

// Leave removes somebody, and tells the bot.
func (g *Group) Leave(p *Person) *Stanza {
	g.s.mu.Lock()
	g.members = slices.DeleteFunc(g.members, func(m *Person) bool { return m == p })
	g.s.mu.Unlock()
	return g.tell("remove", p)
}

func (g *Group) tell(what string, p *Person) *Stanza {
	g.s.mu.Lock()
	g.changes++
	id := fmt.Sprint("g-", g.ID, "-", g.changes)
	g.s.mu.Unlock()
	st := &Stanza{s: g.s, id: id, node: waBinary.Node{
		Tag: "notification", Attrs: waBinary.Attrs{
			"from": g.JID(), "type": "w:gp2", "id": id, "t": strconv.FormatInt(time.Now().Unix(), 10), "participant": p.Hidden(), "participant_pn": p.PN(),
		},
		Content: []waBinary.Node{{Tag: what, Content: []waBinary.Node{member(p)}}},
	}}
	g.s.deliver(st)
	return st
}

func member(p *Person) waBinary.Node {
	return waBinary.Node{Tag: "participant", Attrs: waBinary.Attrs{"jid": p.Hidden(), "phone_number": p.PN()}}
}

// groupInfo tells who is in a group; nil where there is none.
func (s *Server) groupInfo(n *waBinary.Node) []waBinary.Node {
	to, _ := n.Attrs["to"].(types.JID)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[to.User]
	if g == nil || !has(n, "query") {
		return nil
	}
	g.asked++
	all := []waBinary.Node{{Tag: "participant", Attrs: waBinary.Attrs{"jid": s.lid(), "phone_number": s.jid(), "type": "admin"}}}
	for _, p := range g.members {
		all = append(all, member(p))
	}
	return []waBinary.Node{{Tag: "group", Attrs: waBinary.Attrs{
		"id": g.ID, "subject": "A group", "creation": "1700000000", "s_t": "1700000000", "addressing_mode": "lid", "size": strconv.Itoa(len(all)),
	}, Content: all}}
}

// groupMessage opens what the bot wrote in a group, for each of its readers.
func (c *conn) groupMessage(n *waBinary.Node, id string, to types.JID) error {
	s := c.s
	s.mu.Lock()
	g := s.groups[to.User]
	var readers []*Person
	if g != nil {
		readers = slices.Clone(g.members)
	}
	s.mu.Unlock()
	if g == nil {
		return fmt.Errorf("there is no group %s", to)
	}
	if who, again := n.Attrs["participant"].(types.JID); again { // for one who asked
		return c.groupRetry(n, id, to, who)
	}
	if n.Attrs["addressing_mode"] != "lid" || n.Attrs["phash"] == nil {
		return fmt.Errorf("a group's message without its way of addressing, or without the hash of its readers: %v", n.Attrs)
	}
	ends, err := c.handOut(n, readers, to)
	if err != nil {
		return err
	}
	sealed, ok := n.GetOptionalChildByTag("enc")
	if !ok || sealed.Attrs["type"] != "skmsg" {
		return errors.New("a group's message without what it says")
	}
	for _, e := range ends {
		m, err := e.groupDecrypt(c.device, to.String(), sealed)
		if errors.Is(err, signalerror.ErrNoSenderKeyForUser) { // the phone asks for the key
			s.lacks(g, e, readers, id)
			continue
		}
		if err != nil {
			return err
		}
		if e == s.owner {
			s.mu.Lock()
			s.peer = append(s.peer, textOf(m))
			s.mu.Unlock()
		}
		for _, p := range readers {
			if p.ends == e {
				p.shown(id, m)
			}
		}
	}
	return nil
}

// lacks lets a phone that can't read a message in a group ask for it again. The
// owner's own does so some other time.
func (s *Server) lacks(g *Group, e *ends, readers []*Person, id string) {
	for _, p := range readers {
		if p.ends == e {
			go p.ReceivesIn(g, id, "retry")
		}
	}
}

// handOut gives the sender's key to the devices that are in the message, and
// returns all that must be able to read it.
func (c *conn) handOut(n *waBinary.Node, readers []*Person, group types.JID) ([]*ends, error) {
	all := []*ends{c.s.owner}
	for _, p := range readers {
		all = append(all, p.ends)
	}
	parts := n.GetChildByTag("participants")
	withKeys := false
	for _, t := range parts.GetChildren() {
		jid, ok := t.Attrs["jid"].(types.JID)
		e := c.s.whose(jid)
		if !ok || jid.Device != 0 || jid.Server != types.HiddenUserServer || !slices.Contains(all, e) {
			return nil, fmt.Errorf("a participant that isn't in the group, or not by its LID: %v", t.Attrs["jid"])
		}
		enc := t.GetChildByTag("enc")
		withKeys = withKeys || enc.Attrs["type"] == "pkmsg"
		m, err := e.decrypt(c.device, enc)
		if err == nil {
			err = e.learn(c.device, group.String(), m)
		}
		if err != nil {
			return nil, fmt.Errorf("for %s: %w", jid, err)
		}
	}
	if withKeys && !has(n, "device-identity") {
		return nil, errors.New("a first message without the device's identity")
	}
	return all, nil
}

// groupRetry opens a group's message that one of its readers asked for again:
// it is for that reader alone, and the key comes with it.
func (c *conn) groupRetry(n *waBinary.Node, id string, group, who types.JID) error {
	e := c.s.whose(who)
	if e == nil {
		return fmt.Errorf("there is nobody at %s", who)
	}
	m, err := e.decrypt(c.device, n.GetChildByTag("enc"))
	if err == nil {
		err = e.learn(c.device, group.String(), m)
	}
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	p := c.s.people[who.User]
	c.s.mu.Unlock()
	if p != nil {
		p.shown(id, m)
	}
	return nil
}

// learn keeps the key by which the bot writes in a group, unless it is known.
func (e *ends) learn(from *Device, group string, m *waE2E.Message) error {
	skdm := m.GetSenderKeyDistributionMessage()
	if skdm.GetGroupID() != group {
		return fmt.Errorf("the key of another group: %q", skdm.GetGroupID())
	}
	pb := store.SignalProtobufSerializer
	key, err := protocol.NewSenderKeyDistributionMessageFromBytes(skdm.GetAxolotlSenderKeyDistributionMessage(), pb.SenderKeyDistributionMessage)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := protocol.NewSenderKeyName(group, from.signal())
	rec, err := e.device.LoadSenderKey(context.Background(), name)
	if err != nil {
		return err
	}
	if !rec.IsEmpty() {
		if _, err := rec.GetSenderKeyStateByID(key.ID()); err == nil {
			return nil
		}
	}
	e.mem.learnt++
	return groups.NewGroupSessionBuilder(e.device, pb).Process(context.Background(), name, key)
}

// groupDecrypt opens what the bot wrote in a group.
func (e *ends) groupDecrypt(from *Device, group string, enc waBinary.Node) (*waE2E.Message, error) {
	raw, _ := enc.Content.([]byte)
	pb := store.SignalProtobufSerializer
	sealed, err := protocol.NewSenderKeyMessageFromBytes(raw, pb.SenderKeyMessage)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := protocol.NewSenderKeyName(group, from.signal())
	plain, err := groups.NewGroupCipher(groups.NewGroupSessionBuilder(e.device, pb), name, e.device).Decrypt(context.Background(), sealed)
	if err != nil {
		return nil, err
	}
	return unpad(plain)
}

// groupEncrypt makes the nodes of a message in a group, for the bot's device:
// the first time with the key.
func (e *ends) groupEncrypt(to *Device, group string, m *waE2E.Message) ([]waBinary.Node, error) {
	plain, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	ctx, pb := context.Background(), store.SignalProtobufSerializer
	e.mu.Lock()
	defer e.mu.Unlock()
	name := protocol.NewSenderKeyName(group, protocol.NewSignalAddress("self", 0))
	builder := groups.NewGroupSessionBuilder(e.device, pb)
	var out []waBinary.Node
	if told := group + " " + to.id; !e.mem.told[told] {
		key, err := builder.Create(ctx, name)
		if err != nil {
			return nil, err
		}
		first, err := e.seal(to, &waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{
			GroupID: new(group), AxolotlSenderKeyDistributionMessage: key.Serialize(),
		}})
		if err != nil {
			return nil, err
		}
		e.mem.told[told] = true
		out = append(out, first)
	}
	sealed, err := groups.NewGroupCipher(builder, name, e.device).Encrypt(ctx, pad(plain))
	if err != nil {
		return nil, err
	}
	return append(out, waBinary.Node{
		Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": "skmsg"}, Content: sealed.SignedSerialize(),
	}), nil
}

// Keys counts the keys by which the bot wrote in groups, as the person's phone
// learned them.
func (p *Person) Keys() int {
	p.ends.mu.Lock()
	defer p.ends.mu.Unlock()
	return p.ends.mem.learnt
}
