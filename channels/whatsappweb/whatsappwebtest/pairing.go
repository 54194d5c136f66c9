package whatsappwebtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"go.mau.fi/whatsmeow/util/keys"
	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/pbkdf2"
	"google.golang.org/protobuf/proto"
)

// pairing is a device that wants to be linked.
type pairing struct {
	c       *conn
	device  *Device
	refs    []string
	details []byte
	name    string // what it calls itself
	linkRef string
	wrapped []byte // its ephemeral key, for a typed code
	bundle  chan []byte
}

// Refs is how many QR codes a connection gets.
const Refs = 6

func (s *Server) beginPairing(c *conn, static []byte) {
	reg := c.payload.GetDevicePairingData()
	d := &Device{noise: append([]byte(nil), static...), identity: [32]byte(reg.GetEIdent()), regID: binary.BigEndian.Uint32(reg.GetERegid())}
	p := &pairing{c: c, device: d, bundle: make(chan []byte, 1)}
	var props waCompanionReg.DeviceProps
	if err := proto.Unmarshal(reg.GetDeviceProps(), &props); err != nil || len(reg.GetESkeySig()) != 64 {
		s.wrongf("registration: %v", err)
	}
	p.name = props.GetOs()
	d.signed = &keys.PreKey{KeyPair: keys.KeyPair{Pub: (*[32]byte)(reg.GetESkeyVal())}, KeyID: binary.BigEndian.Uint32(append([]byte{0}, reg.GetESkeyID()...)), Signature: (*[64]byte)(reg.GetESkeySig())}
	var refs []waBinary.Node
	for range Refs {
		p.refs = append(p.refs, "2@"+rand.Text())
		refs = append(refs, waBinary.Node{Tag: "ref", Content: []byte(p.refs[len(p.refs)-1])})
	}
	s.mu.Lock()
	s.pairing = p
	s.note()
	s.mu.Unlock()
	c.send(waBinary.Node{
		Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "set", "id": "pair-1", "xmlns": "md"},
		Content: []waBinary.Node{{Tag: "pair-device", Content: refs}},
	})
}

// DeviceName is what the device that is linked, or wants to be, calls itself.
func (s *Server) DeviceName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pairing == nil {
		return ""
	}
	return s.pairing.name
}

// Scan is the owner's phone, scanning a QR code.
func (s *Server) Scan(code string) error {
	fields := strings.Split(code, ",")
	s.mu.Lock()
	p := s.pairing
	s.mu.Unlock()
	if len(fields) != 4 || p == nil {
		return fmt.Errorf("not a code of WhatsApp's: %q", code)
	}
	known := false
	for _, r := range p.refs {
		known = known || r == fields[0]
	}
	noise, err := base64.StdEncoding.DecodeString(fields[1])
	identity, err2 := base64.StdEncoding.DecodeString(fields[2])
	adv, err3 := base64.StdEncoding.DecodeString(fields[3])
	if err := errors.Join(err, err2, err3); err != nil || !known {
		return fmt.Errorf("the code isn't valid (any more): %w", err)
	}
	if string(noise) != string(p.device.noise) || string(identity) != string(p.device.identity[:]) {
		return errors.New("the code has other keys than the device")
	}
	return s.link(p, adv)
}

// account signs that a device belongs to the account.
func (s *Server) account(identity [32]byte, at time.Time) (*waAdv.ADVSignedDeviceIdentity, error) {
	details, err := proto.Marshal(&waAdv.ADVDeviceIdentity{
		RawID: proto.Uint32(1), Timestamp: new(uint64(at.Unix())), KeyIndex: proto.Uint32(1),
	})
	if err != nil {
		return nil, err
	}
	owner := s.owner.device.IdentityKey
	sig := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*owner.Priv), concat(whatsmeow.AdvAccountSignaturePrefix, details, identity[:]))
	return &waAdv.ADVSignedDeviceIdentity{Details: details, AccountSignatureKey: owner.Pub[:], AccountSignature: sig[:]}, nil
}

func concat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// next is the address of the next device.
func (s *Server) next() (pn, lid types.JID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linked++
	pn, lid = s.jid(), s.lid()
	pn.Device, lid.Device = uint16(s.linked), uint16(s.linked)
	return pn, lid
}

// link tells the device that it belongs to the account now.
func (s *Server) link(p *pairing, adv []byte) error {
	signed, err := s.account(p.device.identity, time.Now())
	if err != nil {
		return err
	}
	raw, err := proto.Marshal(signed)
	if err != nil {
		return err
	}
	p.details = signed.GetDetails()
	h := hmac.New(sha256.New, adv)
	h.Write(raw)
	sealed, err := proto.Marshal(&waAdv.ADVSignedDeviceIdentityHMAC{Details: raw, HMAC: h.Sum(nil)})
	if err != nil {
		return err
	}
	pn, lid := s.next()
	p.device.number, p.device.id = pn.Device, fmt.Sprintf("bot-%d", pn.Device)
	p.c.send(waBinary.Node{
		Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "set", "id": "pair-2", "xmlns": "md"},
		Content: []waBinary.Node{{Tag: "pair-success", Content: []waBinary.Node{
			{Tag: "device-identity", Content: sealed},
			{Tag: "device", Attrs: waBinary.Attrs{"jid": pn, "lid": lid}},
			{Tag: "platform", Attrs: waBinary.Attrs{"name": "android"}},
		}}},
	})
	return nil
}

// pairAnswer takes what the device says to pair-device and pair-success.
func (s *Server) pairAnswer(c *conn, n *waBinary.Node) {
	sign, ok := n.GetOptionalChildByTag("pair-device-sign", "device-identity")
	if !ok {
		return
	}
	s.mu.Lock()
	p := s.pairing
	s.mu.Unlock()
	raw, _ := sign.Content.([]byte)
	var id waAdv.ADVSignedDeviceIdentity
	if err := proto.Unmarshal(raw, &id); err != nil || p == nil || len(id.GetDeviceSignature()) != 64 {
		s.wrongf("pair-device-sign: %v", err)
		return
	}
	text := concat(whatsmeow.AdvDeviceSignaturePrefix, p.details, p.device.identity[:], s.owner.device.IdentityKey.Pub[:])
	if !ecc.VerifySignature(ecc.NewDjbECPublicKey(p.device.identity), text, [64]byte(id.GetDeviceSignature())) {
		s.wrongf("the device's signature is wrong")
		return
	}
	s.adopt(p.device)
	// It has to connect anew, as what it is now.
	c.send(waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": "515"}})
}

func (s *Server) adopt(d *Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.account = true
	s.device = d
	s.forsake()
	s.note()
}

// forsake gives up what was encrypted for the device before. s.mu is held.
func (s *Server) forsake() {
	for _, st := range s.queue {
		if !st.done {
			st.done, st.forsaken = true, true
		}
	}
}

// Provision links a device without the ceremony; the caller saves it. at is
// when it was linked.
func (s *Server) Provision(d *store.Device, at time.Time) error {
	signed, err := s.account(*d.IdentityKey.Pub, at)
	if err != nil {
		return err
	}
	text := concat(whatsmeow.AdvDeviceSignaturePrefix, signed.GetDetails(), d.IdentityKey.Pub[:], signed.GetAccountSignatureKey())
	sig := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*d.IdentityKey.Priv), text)
	signed.DeviceSignature = sig[:]
	pn, lid := s.next()
	d.ID, d.LID, d.Account, d.Platform, d.PushName = &pn, lid, signed, "android", "La Espiga"
	s.adopt(&Device{
		id: fmt.Sprintf("bot-%d", pn.Device), number: pn.Device, noise: d.NoiseKey.Pub[:], identity: *d.IdentityKey.Pub,
		regID: d.RegistrationID, signed: d.SignedPreKey,
	})
	return nil
}

// linkCode answers the two stages of pairing by a typed code.
func (s *Server) linkCode(c *conn, n *waBinary.Node) any {
	reg := n.GetChildByTag("link_code_companion_reg")
	s.mu.Lock()
	p := s.pairing
	s.mu.Unlock()
	if !has(n, "link_code_companion_reg") || p == nil || p.c != c {
		s.wrongf("a query of md that isn't known: %s", n.XMLString())
		return nil
	}
	bytesOf := func(tag string) []byte {
		b, _ := reg.GetChildByTag(tag).Content.([]byte)
		return b
	}
	switch reg.Attrs["stage"] {
	case "companion_hello":
		if name := string(bytesOf("companion_platform_display")); name != "Chrome (Linux)" {
			s.wrongf("a display name that WhatsApp refuses: %q", name)
		}
		if jid, _ := reg.Attrs["jid"].(types.JID); jid.User != s.Phone {
			s.wrongf("a code for another phone: %s", jid)
		}
		s.mu.Lock()
		p.wrapped, p.linkRef = bytesOf("link_code_pairing_wrapped_companion_ephemeral_pub"), rand.Text()
		s.note()
		s.mu.Unlock()
		return []waBinary.Node{{Tag: "link_code_companion_reg", Content: []waBinary.Node{
			{Tag: "link_code_pairing_ref", Content: []byte(p.linkRef)},
		}}}
	case "companion_finish":
		p.bundle <- bytesOf("link_code_pairing_wrapped_key_bundle")
	}
	return nil
}

// stream is the cipher that a typed code makes.
func stream(code string, salt, iv, data []byte) ([]byte, error) {
	block, err := aes.NewCipher(pbkdf2.Key([]byte(code), salt, 2<<16, 32, sha256.New))
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, iv).XORKeyStream(out, data)
	return out, nil
}

// codeNotification is the id of the answer to a typed code. It isn't delivered
// again: the person types once more.
const codeNotification = "n-1"

// TypeCode is the owner's phone, being typed the code.
func (s *Server) TypeCode(code string) error {
	code = strings.ReplaceAll(code, "-", "")
	s.mu.Lock()
	p := s.pairing
	s.mu.Unlock()
	if p == nil || len(p.wrapped) != 80 || len(code) != 8 {
		return errors.New("no device waits for that code")
	}
	companion, err := stream(code, p.wrapped[:32], p.wrapped[32:48], p.wrapped[48:])
	if err != nil {
		return err
	}
	mine, owner := keys.NewKeyPair(), s.owner.device.IdentityKey
	salt, iv := make([]byte, 32), make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	_, _ = rand.Read(iv)
	sealed, err := stream(code, salt, iv, mine.Pub[:])
	if err != nil {
		return err
	}
	p.c.send(waBinary.Node{
		Tag: "notification", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "link_code_companion_reg", "id": codeNotification, "t": time.Now().Unix()},
		Content: []waBinary.Node{{Tag: "link_code_companion_reg", Attrs: waBinary.Attrs{"stage": "primary_hello"}, Content: []waBinary.Node{
			{Tag: "link_code_pairing_wrapped_primary_ephemeral_pub", Content: concat(salt, iv, sealed)},
			{Tag: "primary_identity_pub", Content: owner.Pub[:]},
			{Tag: "link_code_pairing_ref", Content: []byte(p.linkRef)},
		}}},
	})
	var wrapped []byte
	select {
	case wrapped = <-p.bundle:
	case <-time.After(Patience):
		return errors.New("the device didn't finish")
	}
	shared, err := curve25519.X25519(mine.Priv[:], companion)
	if err != nil || len(wrapped) < 44 {
		return fmt.Errorf("the device's ephemeral key: %w", err)
	}
	block, err := aes.NewCipher(hkdfutil.SHA256(shared, wrapped[:32], []byte("link_code_pairing_key_bundle_encryption_key"), 32))
	if err != nil {
		return err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	bundle, err := gcm.Open(nil, wrapped[32:44], wrapped[44:], nil)
	if err != nil || len(bundle) != 96 || string(bundle[:32]) != string(p.device.identity[:]) {
		return fmt.Errorf("the device typed another code, or is another: %w", err)
	}
	identityShared, err := curve25519.X25519(owner.Priv[:], p.device.identity[:])
	if err != nil {
		return err
	}
	return s.link(p, hkdfutil.SHA256(concat(shared, identityShared, bundle[64:]), nil, []byte("adv_secret"), 32))
}
