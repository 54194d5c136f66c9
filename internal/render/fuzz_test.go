package render

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/parley-bot/parley/channels"
)

func seeds(f *testing.F) {
	for _, text := range []string{
		"Hello world. How are you?\n\nFine, thanks.\n- a\n  - b", "```go\nfunc main() {\n\n\tx := 1\n}\n```\nend ```\nmore",
		"~~~\n~~~\n```\n\n\n\n", "see https://example.com/a/b?c=d and [x y](http://z) **bold text** `code`",
		"👨‍👩‍👧👨‍👩‍👧🇨🇴🇨🇴e\u0301e\u0301\u200d", "你好吗。我很好，谢谢你", "a\u00a0b\u2060c\u200bd", strings.Repeat("a\u0301", 50) + strings.Repeat("\u0301", 100),
		"\xff\x00\r\n\r\u2028", "  ```  x\n  y\n  ```\n\n\n",
		"# A *b* `c`\n> q **w\n> e** r\n>\n> ```\n> x\n> ```", "| a | b |\n|---|:-:|\n| `x|y` | [l](http://m_n_o) |\n| 1 |", "1. a\n\n   b\n2) c\n   - d *e*f* g",
		"***a* b** *a **b** c* **a**_b_ ~~x~~`y```z`` `a`b` \\*x\\* &lt;b&gt; <b>x<i>y</b>z</i><br>", "[a]: http://b\n\n[c]: <d> 'e'\n[a] [c][] ![i](j)",
		"**https://a.b/c_d**e http://x.y_z*w* <http://q.r> <a@b.c> [http://g.h](http://evil) [a]b](http://c(d)e)", "* * *\n- - -\n+ - 1. x\n#\n>\n>>> y",
		"*_~` a* _b c_ ~d ``` e", "2*3*4 snake_case _x_y *\u200b* `a", strings.Repeat("**a** ", 60), strings.Repeat("> ", 30) + "x", "a&#10;# b &#42;c&#42; &#x1b;", "*\u200b* ", "**\u200b*", "0*0[]( []()", "0 `" + strings.Repeat("0", 70) + " \u00a0" + strings.Repeat("1", 60) + "`",
	} {
		for _, limit := range []uint16{1, 4, 8, 20, 33, 70, 90, 150} {
			f.Add(text, limit, uint8(limit))
		}
	}
}

func unitOf(n uint8) channels.TextUnit {
	return []channels.TextUnit{channels.UnitRune, channels.UnitUTF16, channels.UnitByte}[n%3]
}

func markupsAll() []channels.Markup {
	return []channels.Markup{channels.MarkupPlain, channels.MarkupHTML, channels.MarkupDiscord, channels.MarkupWhatsApp}
}

// squeeze takes out what may be lost at a cut: what isn't seen.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if visible(r) {
			return r
		}
		return -1
	}, text)
}

// unquoted takes out what a quote's lines may begin with.
func unquoted(text string) string { return strings.ReplaceAll(text, ">", "") }

// read is what a reader sees of a message, and how long the platform finds it.
func read(t *testing.T, p Rendered, m channels.Markup, unit channels.TextUnit, raw []string) (seen string, size int) {
	t.Helper()
	size = Length(p.Text, unit)
	var err error
	switch {
	case p.Markup == channels.MarkupHTML:
		seen, err = readHTML(p.Text)
		size = Length(seen, unit)
	case m == channels.MarkupDiscord:
		seen, err = readDiscord(p.Text, raw)
	case m == channels.MarkupWhatsApp:
		seen, err = readWhatsApp(p.Text, raw)
	default:
		seen = p.Text
	}
	if err != nil {
		t.Errorf("%s: %v in %q", m, err, p.Text)
	}
	if p.Markup != channels.MarkupPlain && p.Markup != m {
		t.Errorf("markup %q where %q is spoken", p.Markup, m)
	}
	if (p.Plain == "") != (p.Markup == channels.MarkupPlain) {
		t.Errorf("markup %q with the plain form %q", p.Markup, p.Plain)
	}
	return seen, max(size, Length(p.Plain, unit))
}

// rawIn lists the addresses that are written as they are: no style begins or
// ends within them.
func rawIn(s *sheet) (all []string) {
	for _, a := range s.addresses() {
		cut := slices.ContainsFunc(s.runs, func(r run) bool {
			return r.start > a[0] && r.start < a[1] || r.end > a[0] && r.end < a[1]
		})
		if !cut {
			all = append(all, s.text[a[0]:a[1]])
		}
	}
	return all
}

// FuzzText checks what holds of every reply in every dialect, however it is
// cut: each message is valid by itself and within the limit, and together they
// show the whole text.
func FuzzText(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string, most uint16, u uint8) {
		unit, limit := unitOf(u), int(most%300)
		for _, m := range markupsAll() {
			parts := Text(text, channels.Capabilities{TextMax: limit, Unit: unit, Markup: m})
			s := &sheet{text: clean(text)}
			if !bare(s.text) {
				s = lay(s.text, roomy(m, limit).traits())
			}
			if blank(s.text) != (len(parts) == 0) {
				t.Fatalf("%s: %d parts of %q", m, len(parts), s.text)
			}
			dialect := m
			if limit > 0 && limit < minMarkup {
				dialect = channels.MarkupPlain
			}
			var joined strings.Builder
			for i, p := range parts {
				seen, size := read(t, p, dialect, unit, rawIn(s))
				joined.WriteString(seen)
				if blank(p.Text) || !utf8.ValidString(p.Text) || strings.ContainsAny(p.Text, "\x00\r\x1b") {
					t.Errorf("%s part %d: %q", m, i, p.Text)
				}
				if limit > 0 && size > limit && (limit >= 4 || utf8.RuneCountInString(p.Text) > 1) {
					t.Errorf("%s part %d: %d %s of %d: %q", m, i, size, unit, limit, p.Text)
				}
			}
			if dialect != channels.MarkupPlain || m == channels.MarkupPlain {
				if diff := squeeze(joined.String()); unquoted(diff) != unquoted(squeeze(s.text)) {
					t.Errorf("%s: shown %q of %q", m, diff, squeeze(s.text))
				}
			}
		}
	})
}

// FuzzCut checks where a text is cut.
func FuzzCut(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string, most uint16, u uint8) {
		text = clean(text)
		if text == "" {
			return
		}
		unit, limit := unitOf(u), int(most%200)+8
		c := newCutter(&sheet{text: text}, limit, unit)
		cuts, last := map[int]bool{0: true, len(text): true}, 0
		for start := 0; start < len(text); {
			end := c.end(start, limit)
			if end <= start || start < last {
				t.Fatalf("piece from %d to %d after %d", start, end, last)
			}
			if lost := squeeze(text[last:start]); lost != "" {
				t.Errorf("lost %q", lost)
			}
			cuts[start], cuts[end] = true, true
			last, start = end, c.skip(end)
		}
		if lost := squeeze(text[last:]); lost != "" {
			t.Errorf("lost %q at the end", lost)
		}
		checkClusters(t, text, limit, unit, cuts)
	})
}

// checkClusters finds cuts within what a reader sees as one character.
func checkClusters(t *testing.T, text string, limit int, unit channels.TextUnit, cuts map[int]bool) {
	t.Helper()
	offset, state, rest := 0, -1, text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		for i := 1; i < len(cluster); i++ {
			if cuts[offset+i] && Length(cluster, unit) <= limit/2 && !strings.ContainsFunc(cluster, breakable) {
				t.Errorf("cut within %q", cluster)
			}
		}
		offset += len(cluster)
	}
}

// FuzzQuestion checks what holds of every question: nothing in it formats, and
// it is complete.
func FuzzQuestion(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string, most uint16, u uint8) {
		unit, limit := unitOf(u), int(most%300)+4
		for _, m := range markupsAll() {
			caps := channels.Capabilities{
				TextMax: 4096, Unit: unit, Markup: m,
				Buttons: &channels.ButtonLimits{Max: 2, LabelMax: 1 + int(u), TextMax: limit},
			}
			parts, err := Question(text, []channels.Button{{ID: "i", Label: text, Value: "yes"}}, caps)
			if err != nil {
				continue
			}
			if len(parts) == 0 || len(parts) > maxQuestion {
				t.Fatalf("%d parts", len(parts))
			}
			dialect := m
			if limit < minMarkup {
				dialect = channels.MarkupPlain
			}
			var joined strings.Builder
			for i, p := range parts {
				seen, size := read(t, p, dialect, unit, rawIn(&sheet{text: clean(text)}))
				joined.WriteString(seen)
				if size > limit || blank(p.Text) {
					t.Errorf("%s part %d: %q", m, i, p.Text)
				}
				if (len(p.Buttons) == 1) != (i == len(parts)-1) {
					t.Errorf("part %d of %d has %d buttons", i, len(parts), len(p.Buttons))
				}
			}
			if squeeze(joined.String()) != squeeze(clean(text)) {
				t.Errorf("%s: shown %q of %q", m, joined.String(), text)
			}
			label := parts[len(parts)-1].Buttons[0].Label
			if n := utf8.RuneCountInString(label); blank(label) || !utf8.ValidString(label) || n > 1+int(u) && label != "yes" {
				t.Errorf("label %q", label)
			}
		}
	})
}
