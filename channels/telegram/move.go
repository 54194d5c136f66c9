package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/parley-bot/parley/channels"
)

// moves remembers which groups became supergroups, under new ids. What was
// answered to before keeps the old id.
type moves struct {
	mu sync.Mutex
	to map[int64]int64 // 0: it hasn't moved, as far as the store knows
}

// maxMoves bounds what is kept in memory; the store has all of them.
const maxMoves = 10_000

// firstSupergroup: ids from here down are supergroups and channels, which never
// move.
const firstSupergroup = -1_000_000_000_000

func keyMoved(chat int64) string { return "moved:" + strconv.FormatInt(chat, 10) }

// noticeMove remembers a move that a service message tells of.
func (a *Adapter) noticeMove(ctx context.Context, u *update) error {
	m := u.Message
	switch {
	case m == nil:
		return nil
	case m.MigrateTo != 0:
		return a.moved(ctx, m.Chat.ID, m.MigrateTo)
	case m.MigrateFrom != 0:
		return a.moved(ctx, m.MigrateFrom, m.Chat.ID)
	}
	return nil
}

func (a *Adapter) moved(ctx context.Context, from, to int64) error {
	if from == 0 || to == 0 || from == to {
		return nil
	}
	if err := channels.Put(ctx, a.state, keyMoved(from), []byte(strconv.FormatInt(to, 10))); err != nil {
		return fmt.Errorf("a group's move: %w", err)
	}
	a.moves.set(from, to)
	return nil
}

func (m *moves) set(from, to int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.to) >= maxMoves {
		clear(m.to)
	}
	m.to[from] = to
}

func (m *moves) get(from int64) (int64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to, ok := m.to[from]
	return to, ok
}

// target is where a message for the chat goes now. Where the store can't be
// asked it goes to the old id, and Telegram tells the new one.
func (a *Adapter) target(ctx context.Context, id channels.ChatID) (chat int64, moved bool, err error) {
	chat, err = strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%.30q is no chat of telegram's", string(id))
	}
	if chat >= 0 || chat <= firstSupergroup {
		return chat, false, nil
	}
	to, known := a.moves.get(chat)
	if !known {
		text, err := a.state.Get(ctx, keyMoved(chat))
		if err != nil {
			return chat, false, nil //nolint:nilerr // as said above
		}
		to, _ = strconv.ParseInt(string(text), 10, 64) // 0 where there is none
		a.moves.set(chat, to)
	}
	if to == 0 {
		return chat, false, nil
	}
	return to, true, nil
}

// Messages that were sent to a group's new id are named CHAT/MESSAGE, since
// the numbers begin anew there: an edit finds the one that was meant.

func receiptID(chat int64, moved bool, id int) channels.MessageID {
	if moved {
		return channels.MessageID(strconv.FormatInt(chat, 10) + "/" + strconv.Itoa(id))
	}
	return channels.MessageID(strconv.Itoa(id))
}

// sentMessage takes such a name apart; chat is that of the part where the name
// holds none.
func sentMessage(part channels.ChatID, id channels.MessageID) (chat int64, message int, err error) {
	where, what, ok := strings.Cut(string(id), "/")
	if !ok {
		where, what = string(part), string(id)
	}
	if chat, err = strconv.ParseInt(where, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("%.30q is no chat of telegram's", where)
	}
	if message, err = strconv.Atoi(what); err != nil || message <= 0 {
		return 0, 0, fmt.Errorf("%.30q is no message of telegram's", what)
	}
	return chat, message, nil
}
