package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/tool"
)

// Forgotten is what Forget did, and what the caller must see to.
type Forgotten struct {
	// Channel is the chat's instance, "" where nothing was ever known of it.
	Channel string
	// Rows counts what was removed or emptied; 0: there was nothing.
	Rows int64
	// Cut are the chat's lanes: whoever runs a turn of one must stop.
	Cut []string
	// Speak is true where the outbox has an edit to send now: the one that
	// takes a question's buttons away.
	Speak bool
	// Resolved are the questions that ended, for metrics.
	Resolved []inbox.Resolved
}

const (
	// The first range is that of the keys {chat}:…; another chat's key may be
	// in it, but its row names that chat.
	qChatLanes = `SELECT key FROM lane WHERE (key=?1 OR (key>?2 AND key<?3)) AND chat_key=?1 ORDER BY key /*lock*/`
	qLaneClear = `UPDATE lane SET lang='', error='' WHERE key=?1 AND (lang<>'' OR error<>'')`
	qLaneTurns = `SELECT id FROM turn WHERE lane=?1`
)

// forgottenEntry stands for the question of a forgotten chat's edit: the log
// isn't told what it says.
const forgottenEntry = "-"

// Forget removes what is known of a chat, in one commit: questions and turns
// end as by /reset, and then messages, history, log, remembered runs, turns,
// calls, what tools saved for the chat (and for the person, where it is
// private) and what was said go. The chat starts anew with its next message.
//
// These stay, for they hold no content: counters, so that no number comes
// twice; the identity of messages, so that none is answered again; who may
// write (sender); and what the audit says was done, without arguments, errors
// and people. An edit that takes a question's buttons away is still sent.
//
// In a private chat the person is known by the chat's id, its questions and
// the messages whose content is still kept.
func (s *Store) Forget(ctx context.Context, chatKey string) (Forgotten, error) {
	old, err := s.told(ctx, chatKey)
	if err != nil {
		return Forgotten{}, fmt.Errorf("forgetting chat: %w", err)
	}
	out, err := write(ctx, s, chatKey, func(tx Tx, now time.Time) (Forgotten, error) {
		f := forgetting{tx: tx, now: now, chat: chatKey, turns: map[string]bool{}, users: map[string]bool{}}
		err := f.all(old)
		return f.out, err
	})
	return out, wrap("forgetting chat", err)
}

// forgetting is one run of Forget.
type forgetting struct {
	tx    Tx
	now   time.Time
	chat  string
	turns map[string]bool // of the chat, by id
	users map[string]bool // whose private chat it is
	out   Forgotten
}

func (f *forgetting) all(old toldRows) error {
	lanes, err := f.strings(qChatLanes, f.chat, f.chat+":", f.chat+";")
	if err != nil {
		return err
	}
	c, found, err := getChat(f.tx, f.chat)
	if err != nil {
		return err
	}
	if found {
		f.out.Channel = c.channel
	}
	for _, key := range lanes {
		if err := f.lane(key); err != nil {
			return err
		}
	}
	f.out.Cut = lanes
	for _, step := range []func() error{
		func() error { return f.audit(old) }, f.questions, f.work, f.saved, f.said,
		func() error { return f.exec(`DELETE FROM log WHERE chat=?1`, f.chat) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// lane ends what runs and waits in a lane, and drops what it knows. The row
// stays for its fence: whoever works on the lane loses.
func (f *forgetting) lane(key string) error {
	l, found, err := getLane(f.tx, key)
	if err != nil || !found {
		return err
	}
	f.out.Channel = l.channel
	var acc inbox.Accepted
	if err := supersede(f.tx, f.now, &l, "forgotten", &acc); err != nil {
		return err
	}
	if acc.Resolved != nil {
		f.out.Resolved = append(f.out.Resolved, *acc.Resolved)
	}
	turns, err := f.strings(qLaneTurns, key)
	if err != nil {
		return err
	}
	for _, id := range turns {
		f.turns[id] = true
	}
	if err := f.people(key); err != nil {
		return err
	}
	for _, query := range []string{
		`DELETE FROM draft WHERE lane=?1`, `DELETE FROM inbox WHERE lane=?1`, `DELETE FROM history WHERE lane=?1`,
		`DELETE FROM run WHERE lane=?1`, qLaneClear,
	} {
		if err := f.exec(query, key); err != nil {
			return err
		}
	}
	l.turn, l.parked, l.attempt = "", false, 0
	l.doneSeq, l.turns, l.over, l.lang = l.inSeq, 0, false, ""
	l.fence++
	return l.save(f.tx, f.now, true)
}

// people finds who wrote in the lane, where the chat is private.
func (f *forgetting) people(lane string) error {
	err := f.tx.Rows(`SELECT payload FROM inbox WHERE lane=?1 AND payload IS NOT NULL`, []any{lane}, func(scan func(...any) error) error {
		var payload []byte
		var in channels.Inbound
		if err := scan(&payload); err != nil {
			return err
		}
		if err := json.Unmarshal(payload, &in); err != nil {
			return fmt.Errorf("decoding message: %w", err)
		}
		if !in.Chat.Group {
			f.users[string(in.From.ID)] = true
		}
		return nil
	})
	return wrap("reading messages", err)
}

// questions drops the questions of the chat's turns.
func (f *forgetting) questions() error {
	for id := range f.turns {
		waits, err := queryWaits(f.tx, `SELECT `+waitColumns+` FROM wait WHERE turn=?1`, id)
		if err != nil {
			return err
		}
		for _, w := range waits {
			if !w.Chat.Group {
				f.users[string(w.Requester)] = true
			}
		}
		if err := f.exec(`DELETE FROM wait WHERE turn=?1`, id); err != nil {
			return err
		}
	}
	return nil
}

// work drops the chat's turns and their calls.
func (f *forgetting) work() error {
	for id := range f.turns {
		if err := f.exec(`DELETE FROM call WHERE turn=?1`, id); err != nil {
			return err
		}
		if err := f.exec(`DELETE FROM turn WHERE id=?1`, id); err != nil {
			return err
		}
	}
	return nil
}

// saved drops what tools saved. The id of a private chat is often the
// person's own; a group's never is.
func (f *forgetting) saved() error {
	if f.out.Channel == "" {
		return nil
	}
	f.users[strings.TrimPrefix(f.chat, f.out.Channel+":")] = true
	scopes := []tool.Scope{tool.ScopeOf("chat", f.out.Channel, f.chat)}
	for user := range f.users {
		scopes = append(scopes, tool.ScopeOf("user", f.out.Channel, user))
	}
	for _, scope := range scopes {
		if err := f.exec(`DELETE FROM kv WHERE scope=?1`, string(scope)); err != nil {
			return err
		}
	}
	return nil
}

// said drops the outbox, but for edits that wait and what they edit. A
// question that is on its way is over; its message's id is still wanted.
func (f *forgetting) said() error {
	for _, query := range []string{
		`DELETE FROM outbox WHERE chat=?1 AND NOT (kind='edit' AND state IN ` + openStates + `)
 AND seq NOT IN (SELECT e.edit_of FROM outbox e WHERE e.chat=?1 AND e.kind='edit' AND e.state IN ` + openStates + `)`,
		`UPDATE outbox SET state=CASE state WHEN 'sending' THEN 'forgotten' ELSE state END, payload=NULL, wait='', error=''
 WHERE chat=?1 AND kind='send' AND (wait<>'' OR payload IS NOT NULL OR error<>'')`,
		`UPDATE outbox SET wait='` + forgottenEntry + `' WHERE chat=?1 AND wait<>'` + forgottenEntry + `' AND kind='edit'`,
	} {
		if err := f.exec(query, f.chat); err != nil {
			return err
		}
	}
	if err := skipEnded(f.tx, f.chat); err != nil {
		return err
	}
	c, found, err := getChat(f.tx, f.chat)
	f.out.Speak = found && c.sentSeq < c.outSeq
	return err
}

func (f *forgetting) exec(query string, args ...any) error {
	n, err := f.tx.Exec(query, args...)
	f.out.Rows += n
	return wrap("removing rows", err)
}

func (f *forgetting) strings(query string, args ...any) (out []string, err error) {
	err = f.tx.Rows(query, args, func(scan func(...any) error) error {
		var v string
		err := scan(&v)
		out = append(out, v)
		return err
	})
	return out, wrap("reading chat's rows", err)
}
