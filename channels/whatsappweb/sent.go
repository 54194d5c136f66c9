package whatsappweb

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/parley-bot/parley/channels"
)

const (
	keySalt = "salt"
	keySent = "sent"
	// sentMost and sentBytes bound what is kept of what was sent: a device
	// asks within seconds, or when it is switched on again.
	sentMost  = 256
	sentBytes = 16 << 10
)

// sentBox makes the ids of messages and keeps the last ones. A device that
// can't decrypt a message asks for it once more; without an answer its owner
// sees "Waiting for this message" for ever, so that the newest outlive a
// restart.
type sentBox struct {
	state channels.State

	mu    sync.Mutex
	salt  []byte
	list  []sentMessage // newest last
	saved []byte        // what the state holds
}

type sentMessage struct {
	ID  types.MessageID `json:"id"`
	Raw []byte          `json:"raw"` // *waE2E.Message
}

func newSentBox(state channels.State) *sentBox { return &sentBox{state: state} }

// load reads what was kept.
func (b *sentBox) load(ctx context.Context) error {
	raw, err := b.state.Get(ctx, keySent)
	if err != nil {
		return fmt.Errorf("reading what was sent: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.saved = raw; len(b.list) == 0 {
		_ = json.Unmarshal(raw, &b.list) // what can't be read is of no use: it is written anew
	}
	return nil
}

// id is the message's id: the same for the same key, as long as the bot has
// its database. One that begins anew must not repeat the ids of the old, which
// devices would take for messages that they have.
func (b *sentBox) id(ctx context.Context, name string, part channels.Part) (types.MessageID, error) {
	salt, err := b.salted(ctx)
	if err != nil {
		return "", err
	}
	key := part.Key
	if key == "" {
		key = rand.Text()
	}
	sum := sha256.Sum256(fmt.Appendf(salt, "\n%s\n%s\n%s", name, part.Chat.ID, key))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:9])), nil
}

func (b *sentBox) salted(ctx context.Context) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.salt == nil {
		had, err := b.state.Get(ctx, keySalt)
		if err != nil {
			return nil, fmt.Errorf("reading the salt of ids: %w", err)
		}
		if len(had) > 0 {
			b.salt = had
			break
		}
		if _, err := b.state.Swap(ctx, keySalt, nil, []byte(rand.Text())); err != nil {
			return nil, fmt.Errorf("saving the salt of ids: %w", err)
		}
	}
	return append([]byte(nil), b.salt...), nil
}

// keep remembers a message.
func (b *sentBox) keep(id types.MessageID, m *waE2E.Message) {
	raw, err := proto.Marshal(m)
	if err != nil {
		return // SendMessage will say so
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, s := range b.list {
		if s.ID == id {
			b.list = append(b.list[:i], b.list[i+1:]...)
			break
		}
	}
	b.list = append(b.list, sentMessage{id, raw})
	if over := len(b.list) - sentMost; over > 0 {
		b.list = append([]sentMessage(nil), b.list[over:]...)
	}
}

// save writes the newest of them that fit.
func (b *sentBox) save(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	from, size := len(b.list), 0
	for ; from > 0; from-- {
		if size += len(b.list[from-1].Raw) + 64; size > sentBytes {
			break
		}
	}
	raw, err := json.Marshal(b.list[from:])
	if err != nil {
		return fmt.Errorf("encoding what was sent: %w", err)
	}
	ok, err := b.state.Swap(ctx, keySent, b.saved, raw)
	if err == nil && !ok { // another process's; it is not worth a quarrel
		b.saved, err = b.state.Get(ctx, keySent)
		return err
	}
	if err == nil {
		b.saved = raw
	}
	return err
}

// forRetry is what a device asks for again.
func (b *sentBox) forRetry(_, _ types.JID, id types.MessageID) *waE2E.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range slices.Backward(b.list) {
		if s.ID != id {
			continue
		}
		var m waE2E.Message
		if proto.Unmarshal(s.Raw, &m) != nil {
			return nil
		}
		return &m
	}
	return nil
}
