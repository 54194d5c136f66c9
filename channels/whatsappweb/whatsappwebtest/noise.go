package whatsappwebtest

import (
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCert"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/keys"
	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/hkdf"
	"google.golang.org/protobuf/proto"
)

// authority is the root of the certificates of all servers of the process.
type authority struct {
	root, intermediate *keys.KeyPair
}

//nolint:gochecknoglobals // the SDK's root is one too
var theAuthority = sync.OnceValue(func() *authority {
	a := &authority{root: keys.NewKeyPair(), intermediate: keys.NewKeyPair()}
	copy(whatsmeow.WACertPubKey[:], a.root.Pub[:])
	return a
})

// Trust makes the SDK trust the servers of this package, and no other. It is
// called before the first client is made: New does so.
func Trust() { theAuthority() }

// RootKey is what the servers of this process are trusted by, for TrustKey in
// another one.
func RootKey() []byte { return theAuthority().root.Pub[:] }

// TrustKey makes the SDK trust the servers of another process.
func TrustKey(key []byte) { copy(whatsmeow.WACertPubKey[:], key) }

// chain is the certificate of a server's key.
func (a *authority) chain(static *keys.KeyPair) ([]byte, error) {
	serial := uint32(7)
	certify := func(by *keys.KeyPair, serial, issuer uint32, key []byte) (*waCert.CertChain_NoiseCertificate, error) {
		details, err := proto.Marshal(&waCert.CertChain_NoiseCertificate_Details{
			Serial: new(serial), IssuerSerial: new(issuer), Key: key,
		})
		if err != nil {
			return nil, err
		}
		sig := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*by.Priv), details)
		return &waCert.CertChain_NoiseCertificate{Details: details, Signature: sig[:]}, nil
	}
	middle, err := certify(a.root, serial, whatsmeow.WACertIssuerSerial, a.intermediate.Pub[:])
	if err != nil {
		return nil, err
	}
	leaf, err := certify(a.intermediate, 8, serial, static.Pub[:])
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&waCert.CertChain{Leaf: leaf, Intermediate: middle})
}

// noise is the server's side of Noise_XX_25519_AESGCM_SHA256.
type noise struct {
	hash, salt []byte
	key        cipher.AEAD
	n          uint32
}

func newNoise() (*noise, error) {
	n := &noise{hash: []byte(socket.NoiseStartPattern), salt: []byte(socket.NoiseStartPattern)}
	var err error
	n.key, err = gcmutil.Prepare(n.hash)
	n.authenticate(socket.WAConnHeader)
	return n, err
}

func (n *noise) authenticate(data []byte) {
	sum := sha256.Sum256(append(append([]byte(nil), n.hash...), data...))
	n.hash = sum[:]
}

func iv(n uint32) []byte {
	out := make([]byte, 12)
	binary.BigEndian.PutUint32(out[8:], n)
	return out
}

func (n *noise) encrypt(plain []byte) []byte {
	out := n.key.Seal(nil, iv(n.n), plain, n.hash)
	n.n++
	n.authenticate(out)
	return out
}

func (n *noise) decrypt(data []byte) ([]byte, error) {
	out, err := n.key.Open(nil, iv(n.n), data, n.hash)
	n.n++
	if err == nil {
		n.authenticate(data)
	}
	return out, err
}

func (n *noise) expand(secret []byte) (first, second []byte, err error) {
	h := hkdf.New(sha256.New, secret, n.salt, nil)
	both := make([]byte, 64)
	_, err = io.ReadFull(h, both)
	return both[:32], both[32:], err
}

func (n *noise) mix(priv *[32]byte, pub []byte) error {
	secret, err := curve25519.X25519(priv[:], pub)
	if err != nil {
		return err
	}
	salt, key, err := n.expand(secret)
	if err != nil {
		return err
	}
	n.salt, n.n = salt, 0
	n.key, err = gcmutil.Prepare(key)
	return err
}

// pipe encrypts what is said after the handshake.
type pipe struct {
	read, write cipher.AEAD
	in, out     uint32
}

// handshake answers a client. It returns what the client says of itself and
// its static key.
func (s *Server) handshake(receive func() ([]byte, error), send func([]byte) error) (*pipe, *waWa6.ClientPayload, []byte, error) {
	n, err := newNoise()
	if err != nil {
		return nil, nil, nil, err
	}
	raw, err := receive()
	if err != nil {
		return nil, nil, nil, err
	}
	var hello, finish waWa6.HandshakeMessage
	if err := proto.Unmarshal(raw, &hello); err != nil || len(hello.GetClientHello().GetEphemeral()) != 32 {
		return nil, nil, nil, errors.New("no client hello")
	}
	theirs := hello.GetClientHello().GetEphemeral()
	n.authenticate(theirs)
	mine := keys.NewKeyPair()
	n.authenticate(mine.Pub[:])
	if err := n.mix(mine.Priv, theirs); err != nil {
		return nil, nil, nil, err
	}
	static := n.encrypt(s.static.Pub[:])
	if err := n.mix(s.static.Priv, theirs); err != nil {
		return nil, nil, nil, err
	}
	cert, err := theAuthority().chain(s.static)
	if err != nil {
		return nil, nil, nil, err
	}
	answer, err := proto.Marshal(&waWa6.HandshakeMessage{ServerHello: &waWa6.HandshakeMessage_ServerHello{
		Ephemeral: mine.Pub[:], Static: static, Payload: n.encrypt(cert),
	}})
	if err == nil {
		err = send(answer)
	}
	if err == nil {
		raw, err = receive()
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if err := proto.Unmarshal(raw, &finish); err != nil {
		return nil, nil, nil, fmt.Errorf("client finish: %w", err)
	}
	clientStatic, err := n.decrypt(finish.GetClientFinish().GetStatic())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("client's static key: %w", err)
	}
	if err := n.mix(mine.Priv, clientStatic); err != nil {
		return nil, nil, nil, err
	}
	plain, err := n.decrypt(finish.GetClientFinish().GetPayload())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("client's payload: %w", err)
	}
	var payload waWa6.ClientPayload
	if err := proto.Unmarshal(plain, &payload); err != nil {
		return nil, nil, nil, fmt.Errorf("client's payload: %w", err)
	}
	first, second, err := n.expand(nil)
	if err != nil {
		return nil, nil, nil, err
	}
	p := &pipe{}
	if p.read, err = gcmutil.Prepare(first); err == nil {
		p.write, err = gcmutil.Prepare(second)
	}
	return p, &payload, clientStatic, err
}
