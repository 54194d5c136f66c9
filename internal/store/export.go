package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/tool"
)

// ErrUnknownChat is the error of Export for a chat that nothing is known of.
var ErrUnknownChat = errors.New("no such chat is known")

// Export reads all that is kept of a chat at one moment, as JSON objects whose
// "kind" tells what they are: lane, message, history, turn, call, question and
// run of each of its lanes, then log, outbox and event, and saved: what tools
// saved for the chat and, where it is private, for the person. In a private
// chat the person is known by the chat's id, its questions and the messages
// whose content is still kept. The error wraps ErrUnknownChat where there is
// no such chat.
func (s *Store) Export(ctx context.Context, chatKey string) ([]json.RawMessage, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (out []json.RawMessage, err error) {
		lanes, channel, err := exportedLanes(tx, chatKey)
		if err != nil {
			return nil, err
		}
		e := exporting{tx: tx}
		for _, lane := range lanes {
			if err := e.all(exportLane(), lane); err != nil {
				return nil, err
			}
		}
		if err := e.all(exportChat(), chatKey); err != nil {
			return nil, err
		}
		scopes, err := exportedScopes(tx, chatKey, channel, lanes)
		if err != nil {
			return nil, err
		}
		for _, scope := range scopes {
			if err := e.all(exportSaved(), string(scope)); err != nil {
				return nil, err
			}
		}
		return e.out, nil
	})
}

// exportedLanes are the lanes of a chat, and its channel.
func exportedLanes(tx Tx, chatKey string) (lanes []string, channel string, err error) {
	known, err := tx.Row(`SELECT channel FROM chat WHERE key=?1`, []any{chatKey}, &channel)
	if err != nil {
		return nil, "", fmt.Errorf("reading chat: %w", err)
	}
	err = tx.Rows(`SELECT key, channel FROM lane WHERE chat_key=?1 ORDER BY key`, []any{chatKey}, func(scan func(...any) error) error {
		var key string
		err := scan(&key, &channel)
		lanes = append(lanes, key)
		return err
	})
	if err != nil || known || len(lanes) > 0 {
		return lanes, channel, wrap("reading chat's lanes", err)
	}
	var whole string
	part, err := tx.Row(`SELECT chat_key FROM lane WHERE key=?1`, []any{chatKey}, &whole)
	if err != nil {
		return nil, "", fmt.Errorf("reading lane: %w", err)
	}
	if part {
		return nil, "", fmt.Errorf("%w: %q is one person's part of %q", ErrUnknownChat, chatKey, whole)
	}
	return nil, "", fmt.Errorf("%w: %q", ErrUnknownChat, chatKey)
}

// exportedScopes are those in which tools saved something for the chat, or for
// the person whose private chat it is.
func exportedScopes(tx Tx, chatKey, channel string, lanes []string) ([]tool.Scope, error) {
	// The id of a private chat is often the person's own; a group's never is.
	users := []string{strings.TrimPrefix(chatKey, channel+":")}
	for _, lane := range lanes {
		err := tx.Rows(`SELECT payload FROM inbox WHERE lane=?1 AND payload IS NOT NULL`, []any{lane}, func(scan func(...any) error) error {
			var payload []byte
			var in channels.Inbound
			if err := scan(&payload); err != nil {
				return err
			}
			if err := json.Unmarshal(payload, &in); err != nil {
				return err
			}
			if !in.Chat.Group {
				users = append(users, string(in.From.ID))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading messages: %w", err)
		}
		waits, err := queryWaits(tx, `SELECT `+waitColumns+` FROM wait WHERE lane=?1`, lane)
		if err != nil {
			return nil, err
		}
		for _, w := range waits {
			if !w.Chat.Group {
				users = append(users, string(w.Requester))
			}
		}
	}
	slices.Sort(users)
	scopes := []tool.Scope{tool.ScopeOf("chat", channel, chatKey)}
	for _, user := range slices.Compact(users) {
		scopes = append(scopes, tool.ScopeOf("user", channel, user))
	}
	return scopes, nil
}

// exporting is one run of Export.
type exporting struct {
	tx  Tx
	out []json.RawMessage
}

func (e *exporting) all(kinds []exported, of string) error {
	for _, k := range kinds {
		err := e.tx.Rows(k.query, []any{of}, func(scan func(...any) error) error {
			line, err := k.line(scan)
			e.out = append(e.out, line)
			return err
		})
		if err != nil {
			return fmt.Errorf("exporting %s: %w", k.kind, err)
		}
	}
	return nil
}

// line writes a row as an object, keys in the order of the columns.
func (k exported) line(scan func(...any) error) (json.RawMessage, error) {
	dest := make([]any, len(k.columns))
	for i, c := range k.columns {
		switch c.form {
		case asText:
			dest[i] = new(string)
		case asNumber, asTime:
			dest[i] = new(int64)
		case asFlag:
			dest[i] = new(bool)
		case asJSON, asHistory:
			dest[i] = new([]byte)
		}
	}
	if err := scan(dest...); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q`, k.kind)
	for i, c := range k.columns {
		v, err := c.value(dest[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if v == nil {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(&b, `,%q:%s`, c.name, text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// value is what a column holds, nil where it is left out.
func (c column) value(scanned any) (any, error) {
	switch v := scanned.(type) {
	case *string:
		if *v != "" {
			return *v, nil
		}
	case *int64:
		if c.form == asNumber {
			return *v, nil
		}
		if t := fromMS(*v); !t.IsZero() {
			return t, nil
		}
	case *bool:
		return *v, nil
	case *[]byte:
		switch {
		case len(*v) == 0:
		case c.form == asHistory:
			return exportedHistory(*v)
		case !json.Valid(*v): // a model's arguments may be anything
			return string(*v), nil
		default:
			return json.RawMessage(*v), nil
		}
	}
	return nil, nil
}

// exportedLine is one line of the history.
type exportedLine struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

func exportedHistory(b []byte) ([]exportedLine, error) {
	lines, err := historyLines(0, b)
	if err != nil {
		return nil, err
	}
	out := make([]exportedLine, 0, len(lines))
	for _, l := range lines {
		out = append(out, exportedLine{l.Role, l.Text})
	}
	return out, nil
}
