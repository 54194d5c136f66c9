package telegram

import (
	"strings"
	"unicode/utf16"
)

// entity marks a part of a text. Offset and length count UTF-16 units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"`
}

// span is the entity's place in text in bytes; ok is false where it has none.
func (e entity) span(text string) (from, to int, ok bool) {
	if e.Offset < 0 || e.Length <= 0 || e.Offset > len(text) || e.Length > len(text) {
		return 0, 0, false
	}
	units, from := 0, -1
	for i, r := range text {
		if units == e.Offset {
			from = i
		}
		if units == e.Offset+e.Length {
			return from, i, from >= 0
		}
		units += max(1, utf16.RuneLen(r))
	}
	return from, len(text), from >= 0 && units == e.Offset+e.Length
}

// addressed tells whether the text names the bot, and gives the text without
// the name where it stands at the beginning or the end: "@bot yes" is a yes.
// A command keeps it, since it says whose command it is.
func (me identity) addressed(text string, entities []entity) (bool, string) {
	named, out := false, text
	for _, e := range entities {
		from, to, ok := e.span(text)
		if !ok {
			continue
		}
		part := text[from:to]
		switch e.Type {
		case "mention":
			if me.Username == "" || !strings.EqualFold(part, "@"+me.Username) {
				continue
			}
		case "text_mention":
			if e.User == nil || e.User.ID != me.ID || me.ID == 0 {
				continue
			}
		case "bot_command":
			_, whose, _ := strings.Cut(part, "@")
			named = named || me.Username != "" && strings.EqualFold(whose, me.Username)
			continue
		default:
			continue
		}
		named = true
		before, after := strings.TrimSpace(text[:from]), strings.TrimSpace(text[to:])
		switch {
		case before == "":
			after = strings.TrimSpace(strings.TrimLeft(after, ",:"))
			if after != "" && out == text {
				out = after
			}
		case after == "":
			if before = strings.TrimSpace(strings.TrimRight(before, ",")); before != "" && out == text {
				out = before
			}
		}
	}
	return named, out
}
