package inbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// Bounds of what comes beside the text. Longer ids are no platform's.
const (
	maxID    = 512
	maxName  = 256
	maxMedia = 20
	maxRef   = 4096
	// maxClaims bounds what a channel may vouch for.
	maxClaims = 50
	// maxKey bounds what is made of several ids: PostgreSQL's indexes take no
	// more than 2,700 bytes.
	maxKey = 1900
)

// checked is the message as it may be stored. What identifies it must be
// right; what only describes it is made right or left out.
func checked(in channels.Inbound) (channels.Inbound, error) {
	switch in.Kind {
	case channels.KindMessage, channels.KindEdit, channels.KindPress:
	default:
		return in, fmt.Errorf("unknown kind %.20q", in.Kind)
	}
	for _, id := range []struct{ what, value string }{
		{"message id", string(in.ID)}, {"chat id", string(in.Chat.ID)}, {"user id", string(in.From.ID)},
	} {
		if id.value == "" || !sound(id.value, maxID) {
			return in, fmt.Errorf("%s is empty, too long or not UTF-8", id.what)
		}
	}
	if !sound(string(in.Chat.Thread), maxID) || !sound(in.EditStamp, maxID) {
		return in, errors.New("thread or edit stamp is too long or not UTF-8")
	}
	if !utf8.ValidString(in.Text) {
		return in, errors.New("text is not UTF-8")
	}
	in.Text = withoutNUL(in.Text)
	if !sound(string(in.ReplyTo), maxID) {
		in.ReplyTo = ""
	}
	if !sound(string(in.Button), maxID) {
		in.Button = "" // none of ours
	}
	in.From.Name, in.From.Lang = tidy(in.From.Name, maxName), tidy(in.From.Lang, 64)
	in.From.Claims = maps.Clone(in.From.Claims)
	maps.DeleteFunc(in.From.Claims, func(k, v string) bool { return !sound(k, maxName) || !sound(v, maxRef) })
	for i, name := range slices.Sorted(maps.Keys(in.From.Claims)) {
		if i >= maxClaims {
			delete(in.From.Claims, name)
		}
	}
	in.At = dated(in.At)
	media := make([]channels.Media, 0, min(len(in.Media), maxMedia))
	for _, m := range in.Media[:min(len(in.Media), maxMedia)] {
		m.Type, m.MIME, m.Name = tidy(m.Type, 32), tidy(m.MIME, maxName), tidy(m.Name, maxName)
		if !sound(m.Ref, maxRef) {
			m.Ref = ""
		}
		media = append(media, m)
	}
	in.Media = nil
	if len(media) > 0 {
		in.Media = media
	}
	return in, nil
}

// dated is a time as JSON can hold it: in UTC, of a year with four digits. Any
// other is none of a platform's, and left out.
func dated(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// sound tells whether s can be kept as it is. PostgreSQL's texts hold no NUL.
func sound(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

func tidy(s string, most int) string {
	return clip(withoutNUL(strings.ToValidUTF8(s, "")), most)
}

func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// clip is s cut to most bytes, not within a rune.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// blank tells whether nobody would see anything of s.
func blank(s string) bool {
	for _, r := range s {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		case r == '\u2800', r == '\u3164', r == '\u115f', r == '\u1160', r == '\uffa0': // blanks that count as letters or symbols
		default:
			return false
		}
	}
	return true
}
