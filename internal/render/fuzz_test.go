package render

import (
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
	} {
		for _, limit := range []uint16{1, 4, 8, 20, 33} {
			f.Add(text, limit, uint8(limit))
		}
	}
}

func unitOf(n uint8) channels.TextUnit {
	return []channels.TextUnit{channels.UnitRune, channels.UnitUTF16, channels.UnitByte}[n%3]
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

// FuzzText checks what holds of every reply however it is cut.
func FuzzText(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string, limit uint16, u uint8) {
		unit, limit := unitOf(u), limit%200
		parts := Text(text, channels.Capabilities{TextMax: int(limit), Unit: unit})
		if blank(strings.ToValidUTF8(text, "\ufffd")) != (len(parts) == 0) {
			t.Errorf("%d parts of a text that is blank: %v", len(parts), blank(text))
		}
		for i, p := range parts {
			if blank(p.Text) || !utf8.ValidString(p.Text) || strings.ContainsAny(p.Text, "\x00\r") {
				t.Errorf("part %d: %q", i, p.Text)
			}
			if n := Length(p.Text, unit); limit > 0 && n > int(limit) && (limit >= 4 || utf8.RuneCountInString(p.Text) > 1) {
				t.Errorf("part %d: %d %s of %d: %q", i, n, unit, limit, p.Text)
			}
		}
		if len(parts) > len(text)+1 {
			t.Errorf("%d parts of %d bytes", len(parts), len(text))
		}
	})
}

// FuzzCut checks where a text is cut.
func FuzzCut(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string, max uint16, u uint8) {
		text = clean(text)
		if text == "" {
			return
		}
		unit, limit := unitOf(u), int(max%200)+8
		for _, code := range []bool{false, true} {
			pieces := cut(text, limit, unit, code)
			covered := map[int]bool{0: true, len(text): true}
			var joined strings.Builder
			last := 0
			for _, p := range pieces {
				if p.start < last || p.end <= p.start {
					t.Fatalf("piece %+v after %d", p, last)
				}
				if gap := squeeze(text[last:p.start]); gap != "" && !(code && fenceLine(gap)) {
					t.Errorf("lost %q", gap)
				}
				if !code && (p.head != "" || p.tail != "") {
					t.Errorf("fences in literal text: %+v", p)
				}
				joined.WriteString(text[p.start:p.end])
				covered[p.start], covered[p.end] = true, true
				last = p.end
			}
			if gap := squeeze(text[last:]); gap != "" && !(code && fenceLine(gap)) {
				t.Errorf("lost %q at the end", gap)
			}
			if !code && squeeze(joined.String()) != squeeze(text) {
				t.Errorf("pieces don't make up the text")
			}
			checkClusters(t, text, limit, unit, covered)
			if code {
				checkFences(t, text, limit, unit, pieces)
			}
		}
	})
}

func fenceLine(text string) bool {
	return strings.Trim(text, "`") == "" || strings.Trim(text, "~") == ""
}

// checkClusters finds cuts within what a reader sees as one character.
func checkClusters(t *testing.T, text string, limit int, unit channels.TextUnit, cuts map[int]bool) {
	t.Helper()
	offset, state, rest := 0, -1, text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		for i := 1; i < len(cluster); i++ {
			// One that takes half a piece may not fit beside fences.
			if cuts[offset+i] && Length(cluster, unit) <= limit/2 && !strings.ContainsFunc(cluster, breakable) {
				t.Errorf("cut within %q", cluster)
			}
		}
		offset += len(cluster)
	}
}

// checkFences finds pieces that leave a block of code open, or don't open it
// again.
func checkFences(t *testing.T, text string, limit int, unit channels.TextUnit, pieces []piece) {
	t.Helper()
	for _, b := range fences(text) {
		if Length(b.head, unit)+Length(b.tail, unit)+2 > limit/2 {
			continue
		}
		for i, p := range pieces[:len(pieces)-1] {
			within := p.end > b.content && p.end < b.end
			if within && p.tail != "\n"+b.tail {
				t.Errorf("piece %d ends within code and isn't closed: %q", i, p.in(text))
			}
			if next := pieces[i+1]; within && next.start < b.end && next.start > b.content && next.head != b.head+"\n" {
				t.Errorf("piece %d goes on within code and isn't opened: %q", i+1, next.in(text))
			}
		}
	}
}

// FuzzQuestion checks what holds of every question.
func FuzzQuestion(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string, limit uint16, u uint8) {
		unit, max := unitOf(u), int(limit%200)+4
		caps := channels.Capabilities{TextMax: 4096, Unit: unit, Buttons: &channels.ButtonLimits{Max: 2, LabelMax: 1 + int(u), TextMax: max}}
		parts, err := Question(text, []channels.Button{{ID: "i", Label: text, Value: "yes"}}, caps)
		if err != nil {
			return
		}
		if len(parts) == 0 || len(parts) > maxQuestion {
			t.Fatalf("%d parts", len(parts))
		}
		var joined strings.Builder
		for i, p := range parts {
			joined.WriteString(p.Text)
			if Length(p.Text, unit) > max || blank(p.Text) {
				t.Errorf("part %d: %q", i, p.Text)
			}
			if (len(p.Buttons) == 1) != (i == len(parts)-1) {
				t.Errorf("part %d of %d has %d buttons", i, len(parts), len(p.Buttons))
			}
		}
		if squeeze(joined.String()) != squeeze(clean(text)) {
			t.Error("the question isn't complete")
		}
		label := parts[len(parts)-1].Buttons[0].Label
		if n := utf8.RuneCountInString(label); blank(label) || !utf8.ValidString(label) || n > 1+int(u) && label != "yes" {
			t.Errorf("label %q", label)
		}
	})
}
