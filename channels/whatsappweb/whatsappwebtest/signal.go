package whatsappwebtest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/session"
	"go.mau.fi/libsignal/util/optional"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// ends is one end of encrypted conversations: a phone.
type ends struct {
	mu     sync.Mutex
	device *store.Device
	mem    *memory
}

func newEnds() *ends {
	mem := &memory{
		NoopStore: &store.NoopStore{}, sessions: map[string][]byte{}, pre: map[uint32]*keys.PreKey{},
		senders: map[string][]byte{}, told: map[string]bool{},
	}
	d := &store.Device{
		NoiseKey: keys.NewKeyPair(), IdentityKey: keys.NewKeyPair(), RegistrationID: 42,
		Identities: mem, Sessions: mem, PreKeys: mem, SenderKeys: mem,
	}
	d.SignedPreKey = d.IdentityKey.CreateSignedPreKey(1)
	return &ends{device: d, mem: mem}
}

// memory is what a phone remembers.
type memory struct {
	*store.NoopStore

	sessions map[string][]byte
	pre      map[uint32]*keys.PreKey
	last     uint32
	senders  map[string][]byte // keys of groups
	told     map[string]bool   // group and device that has the phone's own key
	learnt   int               // keys of the bot's
}

func (m *memory) IsTrustedIdentity(context.Context, string, [32]byte) (bool, error) { return true, nil }

func (m *memory) GetSession(_ context.Context, addr string) ([]byte, error) {
	return m.sessions[addr], nil
}

func (m *memory) HasSession(_ context.Context, addr string) (bool, error) {
	return m.sessions[addr] != nil, nil
}

func (m *memory) PutSession(_ context.Context, addr string, s []byte) error {
	m.sessions[addr] = s
	return nil
}

func (m *memory) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) { return m.pre[id], nil }

func (m *memory) RemovePreKey(_ context.Context, id uint32) error {
	delete(m.pre, id)
	return nil
}

func (m *memory) PutSenderKey(_ context.Context, group, user string, key []byte) error {
	m.senders[group+" "+user] = key
	return nil
}

func (m *memory) GetSenderKey(_ context.Context, group, user string) ([]byte, error) {
	return m.senders[group+" "+user], nil
}

// bundle is what the server gives out of a phone's keys: a new one-time key
// each time.
func (e *ends) bundle() []waBinary.Node {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mem.last++
	one := keys.NewPreKey(e.mem.last)
	e.mem.pre[one.KeyID] = one
	var reg [4]byte
	binary.BigEndian.PutUint32(reg[:], e.device.RegistrationID)
	return []waBinary.Node{
		{Tag: "registration", Content: reg[:]},
		{Tag: "type", Content: []byte{ecc.DjbType}},
		{Tag: "identity", Content: e.device.IdentityKey.Pub[:]},
		keyNode("key", one), keyNode("skey", e.device.SignedPreKey),
	}
}

func keyNode(tag string, k *keys.PreKey) waBinary.Node {
	var id [4]byte
	binary.BigEndian.PutUint32(id[:], k.KeyID)
	content := []waBinary.Node{{Tag: "id", Content: id[1:]}, {Tag: "value", Content: k.Pub[:]}}
	if k.Signature != nil {
		content = append(content, waBinary.Node{Tag: "signature", Content: k.Signature[:]})
	}
	return waBinary.Node{Tag: tag, Content: content}
}

// encrypt makes the node of a message for a bot's device.
func (e *ends) encrypt(to *Device, m *waE2E.Message) (waBinary.Node, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seal(to, m)
}

// seal does so; e.mu is held.
func (e *ends) seal(to *Device, m *waE2E.Message) (waBinary.Node, error) {
	ctx := context.Background()
	addr := to.signal()
	builder := session.NewBuilderFromSignal(e.device, addr, store.SignalProtobufSerializer)
	if e.mem.sessions[addr.String()] == nil {
		b, err := to.takeBundle()
		if err != nil {
			return waBinary.Node{}, err
		}
		if err := builder.ProcessBundle(ctx, b); err != nil {
			return waBinary.Node{}, fmt.Errorf("the bot's keys: %w", err)
		}
	}
	plain, err := proto.Marshal(m)
	if err != nil {
		return waBinary.Node{}, err
	}
	sealed, err := session.NewCipher(builder, addr).Encrypt(ctx, pad(plain))
	if err != nil {
		return waBinary.Node{}, err
	}
	kind := "msg"
	if sealed.Type() == protocol.PREKEY_TYPE {
		kind = "pkmsg"
	}
	return waBinary.Node{Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": kind}, Content: sealed.Serialize()}, nil
}

// decrypt opens the node of a message from a bot's device.
func (e *ends) decrypt(from *Device, enc waBinary.Node) (*waE2E.Message, error) {
	raw, ok := enc.Content.([]byte)
	if !ok || enc.Attrs["v"] != "2" {
		return nil, errors.New("an enc node without content or version 2")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ctx := context.Background()
	pb := store.SignalProtobufSerializer
	cipher := session.NewCipher(session.NewBuilderFromSignal(e.device, from.signal(), pb), from.signal())
	var plain []byte
	switch kind := enc.Attrs["type"]; kind {
	case "pkmsg":
		m, err := protocol.NewPreKeySignalMessageFromBytes(raw, pb.PreKeySignalMessage, pb.SignalMessage)
		if err != nil {
			return nil, err
		}
		if plain, err = cipher.DecryptMessage(ctx, m); err != nil {
			return nil, err
		}
	case "msg":
		m, err := protocol.NewSignalMessageFromBytes(raw, pb.SignalMessage)
		if err != nil {
			return nil, err
		}
		if plain, err = cipher.Decrypt(ctx, m); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("an enc node of type %v", kind)
	}
	return unpad(plain)
}

func unpad(plain []byte) (*waE2E.Message, error) {
	if len(plain) == 0 || int(plain[len(plain)-1]) > len(plain) {
		return nil, errors.New("a message without its padding")
	}
	var m waE2E.Message
	return &m, proto.Unmarshal(plain[:len(plain)-int(plain[len(plain)-1])], &m)
}

// forget loses the sessions, as a phone does that was set up anew.
func (e *ends) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.mem.sessions)
	clear(e.mem.senders)
	clear(e.mem.told)
}

func pad(plain []byte) []byte {
	var b [1]byte
	_, _ = rand.Read(b[:]) // never fails
	n := b[0]%15 + 1
	for range n {
		plain = append(plain, n)
	}
	return plain
}

// Device is the bot, as the server knows it.
type Device struct {
	id       string // of the Signal address
	number   uint16
	noise    []byte
	identity [32]byte
	regID    uint32
	signed   *keys.PreKey
	account  bool // whether it is linked

	mu  sync.Mutex
	pre []*keys.PreKey
}

func (d *Device) signal() *protocol.SignalAddress {
	return protocol.NewSignalAddress(d.id, uint32(d.number))
}

// takeBundle gives out a one-time key, which is then gone.
func (d *Device) takeBundle() (*prekey.Bundle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pre) == 0 {
		return nil, errors.New("the bot has uploaded no keys, or all are used up")
	}
	one := d.pre[0]
	d.pre = d.pre[1:]
	return prekey.NewBundle(d.regID, uint32(d.number), optional.NewOptionalUint32(one.KeyID), d.signed.KeyID,
		ecc.NewDjbECPublicKey(*one.Pub), ecc.NewDjbECPublicKey(*d.signed.Pub), *d.signed.Signature,
		identity.NewKey(ecc.NewDjbECPublicKey(d.identity))), nil
}

// upload takes what the bot says are its keys.
func (d *Device) upload(iq *waBinary.Node) error {
	list := iq.GetChildByTag("list")
	id, ok := iq.GetChildByTag("identity").Content.([]byte)
	if !ok || [32]byte(id) != d.identity {
		return errors.New("keys of another identity")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range list.GetChildren() {
		k, err := readKey(n)
		if err != nil {
			return err
		}
		d.pre = append(d.pre, k)
	}
	signed, err := readKey(iq.GetChildByTag("skey"))
	if err == nil {
		d.signed = signed
	}
	return err
}

func (d *Device) keyCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pre)
}

func readKey(n waBinary.Node) (*keys.PreKey, error) {
	id, ok := n.GetChildByTag("id").Content.([]byte)
	value, ok2 := n.GetChildByTag("value").Content.([]byte)
	if !ok || !ok2 || len(id) != 3 || len(value) != 32 {
		return nil, fmt.Errorf("a key of another shape: %s", n.Tag)
	}
	k := &keys.PreKey{KeyID: binary.BigEndian.Uint32(append([]byte{0}, id...)), KeyPair: keys.KeyPair{Pub: (*[32]byte)(value)}}
	if sig, ok := n.GetChildByTag("signature").Content.([]byte); ok && len(sig) == 64 {
		k.Signature = (*[64]byte)(sig)
	}
	if n.Tag == "skey" && k.Signature == nil {
		return nil, errors.New("a signed key without its signature")
	}
	return k, nil
}
