package console

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// block puts head before the first line and as much space before the others.
func block(head, text string) string {
	indent := "\n" + strings.Repeat(" ", utf8.RuneCountInString(head))
	return head + strings.ReplaceAll(clean(text), "\n", indent) + "\n"
}

// clean takes out what a terminal would obey: control characters, with the
// escape that begins its commands, and marks that reverse the direction.
func clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// refusal is what a person is told of a line that wasn't taken.
func refusal(lang string, err error) string {
	spanish := lang == "es" || strings.HasPrefix(lang, "es-")
	reason := channels.RefusedUnavailable
	if re, ok := errors.AsType[*channels.RefusedError](err); ok {
		reason = re.Reason
	}
	type pair struct{ en, es string }
	p := map[channels.RefusedReason]pair{
		channels.RefusedTooLarge:  {"That line is too long.", "Esa línea es demasiado larga."},
		channels.RefusedBlank:     {"That line is blank.", "Esa línea está en blanco."},
		channels.RefusedInvalid:   {"That line can't be read.", "Esa línea no se puede leer."},
		channels.RefusedQueueFull: {"Too many lines are waiting. Please try again later.", "Hay demasiadas líneas en espera. Inténtalo más tarde."},
		channels.RefusedRate:      {"That was a lot at once. Please try again later.", "Fueron muchas líneas seguidas. Inténtalo más tarde."},
	}[reason]
	if p.en == "" {
		p = pair{"That could not be saved. Please type it again.", "No se pudo guardar. Escríbelo de nuevo."}
	}
	if spanish {
		return p.es
	}
	return p.en
}
