package render

import "github.com/parley-bot/parley/channels"

// plain is text without any markup, for the web chat, the terminal, SMS, and
// wherever a platform refuses markup. Quotes keep their ">", as mail has it;
// an address behind a text follows it in brackets.
type plain struct{}

func (plain) traits() traits {
	return traits{bullet: "•", perLine: true, anyMark: true}
}

func (plain) begin(w *writer, path []*style) {
	if has(path, quote) != nil {
		w.raw("> ")
	}
}

func (plain) open(*writer, *style) {}

func (plain) close(w *writer, s *style) {
	// Only where its text ends, not at each cut or line's end in it.
	if s.kind == link && w.done >= s.end {
		w.raw(" (" + s.url + ")")
	}
}

func (plain) leaf(w *writer, _ *style, text string) { w.raw(text) }

func (plain) text(w *writer, text string) { w.raw(text) }

// dialectOf is the dialect of a markup; plain text where it isn't known.
func dialectOf(m channels.Markup) dialect {
	switch m {
	case channels.MarkupHTML:
		return telegram{}
	case channels.MarkupDiscord:
		return discord{}
	case channels.MarkupWhatsApp:
		return whatsapp{}
	default:
		return plain{}
	}
}
