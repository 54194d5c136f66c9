package render

import (
	"strings"
	"unicode"

	"github.com/parley-bot/parley/channels"
)

const (
	// minMarkup is the smallest limit within which markup is used: below it
	// the marks might take all the room.
	minMarkup = 64
	// Telegram takes so many bytes of HTML and so many styled stretches in
	// one message; beyond it refuses the one and forgets the others.
	maxHTMLBytes = 32_000
	maxHTMLMarks = 100
)

// roomy is the markup's dialect if the limit has room for it.
func roomy(m channels.Markup, limit int) dialect {
	if limit > 0 && limit < minMarkup {
		return plain{}
	}
	return dialectOf(m)
}

func fits(text string, limit int, unit channels.TextUnit) bool {
	// No unit is smaller than a byte.
	return limit <= 0 || len(text) <= limit || Length(text, unit) <= limit
}

// pieces cuts the sheet and writes it. The white space at the cuts is left
// out, and pieces of which nothing would be seen.
func pieces(s *sheet, m channels.Markup, limit int, unit channels.TextUnit) []Rendered {
	d := roomy(m, limit)
	first := s.first()
	if r, cost := one(s, d, first, len(s.text), limit, unit); limit <= 0 || cost <= limit {
		if blank(s.text) {
			return nil
		}
		return []Rendered{r}
	}
	c := newCutter(s, limit, unit)
	var parts []Rendered
	for start, budget := first, limit; start < len(s.text); {
		end := c.end(start, budget)
		r, cost := one(s, d, start, end, limit, unit)
		if cost > limit && budget > 1 {
			// The marks took too much: as much less text as that was.
			used := c.length(start, end)
			budget = max(1, min(budget-1, used-1, used*limit/cost))
			continue
		}
		if cost > limit {
			r = Rendered{Text: s.text[start:end]}
		}
		if !blank(s.text[start:end]) {
			parts = append(parts, r)
		}
		start, budget = c.skip(end), limit
	}
	return parts
}

// whole writes all of the sheet.
func whole(s *sheet, d dialect) Rendered {
	r, _ := one(s, d, 0, len(s.text), 0, channels.UnitByte)
	return r
}

// one writes the piece from start to end, and tells what the platform counts
// of it, and of its plain form.
func one(s *sheet, d dialect, start, end, limit int, unit channels.TextUnit) (Rendered, int) {
	seen := s.text[start:end]
	anyMark := d.traits().anyMark
	if !s.styled(start, end, anyMark) && (anyMark || bare(seen)) {
		return Rendered{Text: seen}, Length(seen, unit)
	}
	text, opens := write(d, s, start, end)
	r := Rendered{Text: text, Markup: markupOf(d)}
	if r.Markup == channels.MarkupPlain {
		return r, Length(text, unit)
	}
	r.Plain, _ = write(plain{}, s, start, end)
	cost := Length(text, unit)
	if r.Markup == channels.MarkupHTML {
		cost = Length(seen, unit)
		if len(text) > maxHTMLBytes || opens > maxHTMLMarks {
			scale := max(float64(len(text))/maxHTMLBytes, float64(opens)/maxHTMLMarks)
			return r, max(limit+1, int(float64(limit)*scale))
		}
	}
	if text == r.Plain {
		r.Markup, r.Plain = channels.MarkupPlain, ""
		return r, cost
	}
	return r, max(cost, Length(r.Plain, unit))
}

func markupOf(d dialect) channels.Markup {
	switch d.(type) {
	case telegram:
		return channels.MarkupHTML
	case discord:
		return channels.MarkupDiscord
	case whatsapp:
		return channels.MarkupWhatsApp
	default:
		return channels.MarkupPlain
	}
}

// styled tells whether the piece has any style; where anyMark is true the mark
// of a list is none.
func (s *sheet) styled(start, end int, anyMark bool) bool {
	for _, r := range s.runs {
		if r.start < end && r.end > start && !(anyMark && len(r.path) == 1 && r.path[0].kind == marker) {
			return true
		}
	}
	return false
}

// first is where the first line begins of which something is seen.
func (s *sheet) first() int {
	at := max(0, strings.IndexFunc(s.text, func(r rune) bool { return !unicode.IsSpace(r) }))
	return strings.LastIndexByte(s.text[:at], '\n') + 1
}
