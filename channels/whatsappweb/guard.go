package whatsappweb

import (
	"crypto/aes"
	"errors"
	"fmt"
	"sync"

	"go.mau.fi/libsignal/logger"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/whatsmeow/store"
)

// hardenSignal makes the SDK refuse encrypted messages of a wrong shape. Its
// Signal library indexes into what it was sent without looking at the length,
// in goroutines where nobody can recover: a single message of four bytes would
// end the process, and being unacknowledged do so again after each restart.
//
// The serializers are a variable of the whole process; they stay the SDK's
// own, with a check behind each.
var hardenSignal = sync.OnceFunc(func() { //nolint:gochecknoglobals // what it guards is one too
	s := store.SignalProtobufSerializer
	s.SignalMessage = checkedMessage{s.SignalMessage}
	s.PreKeySignalMessage = checkedFirst{s.PreKeySignalMessage}
	s.SenderKeyMessage = checkedGroup{s.SenderKeyMessage}
	s.SenderKeyDistributionMessage = checkedKey{s.SenderKeyDistributionMessage}
	// It writes to standard output, and quotes what it couldn't read.
	var quiet logger.Loggable = silent{}
	logger.Setup(&quiet)
})

// silent is the Signal library's log: what matters is in the errors it returns.
type silent struct{}

func (silent) Debug(string, string)   {}
func (silent) Info(string, string)    {}
func (silent) Warning(string, string) {}
func (silent) Error(string, string)   {}
func (silent) Configure(string)       {}

// keyBytes is the length of a public key, with its type in front.
const keyBytes = 33

var errShape = errors.New("encrypted message of a wrong shape")

// shaped turns a panic of the library into an error.
func shaped(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w (%T)", errShape, r)
	}
}

func blocks(b []byte) bool { return len(b) > 0 && len(b)%aes.BlockSize == 0 }

type checkedMessage struct {
	protocol.SignalMessageSerializer
}

// Deserialize implements protocol.SignalMessageSerializer.
func (c checkedMessage) Deserialize(b []byte) (m *protocol.SignalMessageStructure, err error) {
	defer shaped(&err)
	if m, err = c.SignalMessageSerializer.Deserialize(b); err == nil && (len(m.RatchetKey) != keyBytes || !blocks(m.CipherText)) {
		return nil, errShape
	}
	return m, err
}

type checkedFirst struct {
	protocol.PreKeySignalMessageSerializer
}

// Deserialize implements protocol.PreKeySignalMessageSerializer.
func (c checkedFirst) Deserialize(b []byte) (m *protocol.PreKeySignalMessageStructure, err error) {
	defer shaped(&err)
	if m, err = c.PreKeySignalMessageSerializer.Deserialize(b); err == nil && (len(m.BaseKey) != keyBytes || len(m.IdentityKey) != keyBytes) {
		return nil, errShape
	}
	return m, err
}

type checkedGroup struct {
	protocol.SenderKeyMessageSerializer
}

// Deserialize implements protocol.SenderKeyMessageSerializer.
func (c checkedGroup) Deserialize(b []byte) (m *protocol.SenderKeyMessageStructure, err error) {
	defer shaped(&err)
	if m, err = c.SenderKeyMessageSerializer.Deserialize(b); err == nil && !blocks(m.CipherText) {
		return nil, errShape
	}
	return m, err
}

type checkedKey struct {
	protocol.SenderKeyDistributionMessageSerializer
}

// Deserialize implements protocol.SenderKeyDistributionMessageSerializer.
func (c checkedKey) Deserialize(b []byte) (m *protocol.SenderKeyDistributionMessageStructure, err error) {
	defer shaped(&err)
	if m, err = c.SenderKeyDistributionMessageSerializer.Deserialize(b); err == nil && len(m.SigningKey) != keyBytes {
		return nil, errShape
	}
	return m, err
}
