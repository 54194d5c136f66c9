package render

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// Length is how long a platform finds text, in its unit.
func Length(text string, unit channels.TextUnit) int {
	switch unit {
	case channels.UnitByte:
		return len(text)
	case channels.UnitUTF16:
		n := 0
		for _, r := range text {
			n += runeLength(r, unit)
		}
		return n
	default:
		return utf8.RuneCountInString(text)
	}
}

func runeLength(r rune, unit channels.TextUnit) int {
	switch unit {
	case channels.UnitByte:
		return utf8.RuneLen(r)
	case channels.UnitUTF16:
		return utf16.RuneLen(r)
	default:
		return 1
	}
}
