package whatsappwebtest

import (
	"fmt"
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// iq answers a query.
func (c *conn) iq(n *waBinary.Node) {
	s := c.s
	kind, _ := n.Attrs["type"].(string)
	id, _ := n.Attrs["id"].(string)
	xmlns, _ := n.Attrs["xmlns"].(string)
	if kind == "result" || kind == "error" {
		if kind == "error" {
			s.wrongf("the bot answers with an error: %s", n.XMLString())
		}
		s.pairAnswer(c, n)
		return
	}
	var content any
	switch {
	case c.device == nil && xmlns != "md":
		if xmlns != "w:p" {
			s.wrongf("a query of %q before the login", xmlns)
		}
	case xmlns == "encrypt" && kind == "set":
		if err := c.device.upload(n); err != nil {
			s.wrongf("keys: %v", err)
		}
	case xmlns == "encrypt" && has(n, "count"):
		content = []waBinary.Node{{Tag: "count", Attrs: waBinary.Attrs{"value": strconv.Itoa(c.device.keyCount())}}}
	case xmlns == "encrypt":
		if s.keysFail() {
			c.fail(n, id, 500, "internal-server-error")
			return
		}
		content = []waBinary.Node{{Tag: "list", Content: s.bundles(n)}}
	case xmlns == "usync":
		content = []waBinary.Node{{Tag: "usync", Content: []waBinary.Node{{Tag: "list", Content: s.devices(n)}}}}
	case xmlns == "w:g2":
		info := s.groupInfo(n)
		if info == nil {
			c.fail(n, id, 404, "item-not-found")
			return
		}
		content = info
	case xmlns == "md":
		content = s.linkCode(c, n)
	case xmlns == "privacy":
		content = []waBinary.Node{{Tag: "privacy"}}
	}
	c.send(waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "result", "id": id}, Content: content})
	if xmlns == "passive" && has(n, "active") {
		c.activate()
	}
}

// fail answers a query with an error.
func (c *conn) fail(n *waBinary.Node, id string, code int, text string) {
	c.send(waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"from": n.Attrs["to"], "type": "error", "id": id}, Content: []waBinary.Node{
		{Tag: "error", Attrs: waBinary.Attrs{"code": strconv.Itoa(code), "text": text}},
	}})
}

// FailKeys lets the next queries for the keys of people fail.
func (s *Server) FailKeys(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noKeys = n
}

func (s *Server) keysFail() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noKeys == 0 {
		return false
	}
	s.noKeys--
	return true
}

// has tells whether a node has such a child. (GetChildByTag returns the node
// itself where it hasn't.)
func has(n *waBinary.Node, tag string) bool {
	_, ok := n.GetOptionalChildByTag(tag)
	return ok
}

// whose is the phone at an address.
func (s *Server) whose(jid types.JID) *ends {
	s.mu.Lock()
	defer s.mu.Unlock()
	if jid.User == s.Phone || jid.User == s.LID {
		return s.owner
	}
	if p := s.people[jid.User]; p != nil {
		return p.ends
	}
	return nil
}

// person is who has an address.
func (s *Server) person(jid types.JID) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people[jid.User]
}

func (s *Server) bundles(n *waBinary.Node) []waBinary.Node {
	var out []waBinary.Node
	key := n.GetChildByTag("key")
	for _, u := range key.GetChildren() {
		jid, _ := u.Attrs["jid"].(types.JID)
		user := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}}
		if e := s.whose(jid); e != nil && jid.Device == 0 {
			user.Content = e.bundle()
		} else {
			user.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{"code": "404"}}}
			if e != s.owner { // the SDK also asks for the keys of its own device
				s.wrongf("keys of %s, who doesn't exist", jid)
			}
		}
		out = append(out, user)
	}
	return out
}

// devices lists the devices of people: each has a phone, and the bot's account
// also the bot.
func (s *Server) devices(n *waBinary.Node) []waBinary.Node {
	var out []waBinary.Node
	list := n.GetChildByTag("usync", "list")
	_, asksLID := n.GetOptionalChildByTag("usync", "query", "lid")
	for _, u := range list.GetChildren() {
		jid, _ := u.Attrs["jid"].(types.JID)
		ids := []string{"0"}
		e := s.whose(jid)
		if e == s.owner {
			s.mu.Lock()
			if s.device != nil {
				ids = append(ids, strconv.Itoa(int(s.device.number)))
			}
			s.mu.Unlock()
		}
		var devices []waBinary.Node
		for _, id := range ids {
			if e != nil {
				devices = append(devices, waBinary.Node{Tag: "device", Attrs: waBinary.Attrs{"id": id}})
			}
		}
		about := []waBinary.Node{{Tag: "devices", Content: []waBinary.Node{{Tag: "device-list", Content: devices}}}}
		if p := s.person(jid); p != nil && asksLID {
			about = append(about, waBinary.Node{Tag: "lid", Attrs: waBinary.Attrs{"val": p.Hidden()}})
		}
		out = append(out, waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}, Content: about})
	}
	if len(out) == 0 {
		s.wrongf("%s", fmt.Sprint("an empty usync: ", n.XMLString()))
	}
	return out
}
