package whatsappweb

import (
	"context"

	"go.mau.fi/whatsmeow/store"
)

// buffer is the SDK's buffer of decrypted messages, with one fix. The SDK looks
// a message up, and where it isn't there decrypts and saves it, as two steps.
// After a reconnection the same message comes again while the connection
// before may still be between the two: the second decryption then fails, for
// the key is used up, and the SDK drops the message as an old one. Here the
// steps of one message are one, for all connections of a channel.
type buffer struct {
	store.EventBuffer
	deciding chan struct{} // holds one while a message is decided on
}

// GetBufferedEvent is the first step. Where it finds nothing the SDK calls
// DoDecryptionTxn next, in any case and with nothing in between that can fail.
func (b buffer) GetBufferedEvent(ctx context.Context, hash [32]byte) (e *store.BufferedEvent, err error) {
	b.deciding <- struct{}{}
	defer func() {
		if e != nil || err != nil {
			<-b.deciding
		}
	}()
	return b.EventBuffer.GetBufferedEvent(ctx, hash)
}

// DoDecryptionTxn is the second.
func (b buffer) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	defer func() { <-b.deciding }()
	return b.EventBuffer.DoDecryptionTxn(ctx, fn)
}

// ClearBufferedEventPlaintext notes that a message was taken. That the
// connection has ended since must not keep it from that, or it is given to the
// core again.
func (b buffer) ClearBufferedEventPlaintext(ctx context.Context, hash [32]byte) error {
	return b.EventBuffer.ClearBufferedEventPlaintext(context.WithoutCancel(ctx), hash)
}
