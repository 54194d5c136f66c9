package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
)

func texts(parts []Rendered) (all []string) {
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return all
}

func TestLength(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text              string
		runes, utf16, bts int
	}{
		{"", 0, 0, 0}, {"abc", 3, 3, 3}, {"ñ", 1, 1, 2}, {"€", 1, 1, 3}, {"👍", 1, 2, 4}, {"👩‍🍳", 3, 5, 11},
	}
	for _, tt := range tests {
		for unit, want := range map[channels.TextUnit]int{channels.UnitRune: tt.runes, channels.UnitUTF16: tt.utf16, channels.UnitByte: tt.bts} {
			if got := Length(tt.text, unit); got != want {
				t.Errorf("Length(%q, %q) = %d, want %d", tt.text, unit, got, want)
			}
		}
	}
}

func TestText_Clean(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"as written", "Hi,  you!\n\n\n  3. x \n• y", []string{"Hi,  you!\n\n\n  3. x \n• y"}},
		{"as written with what could be Markdown", "2 * 3  =  snake_case\n\n\n  a <b [c] & d", []string{"2 * 3  =  snake_case\n\n\n  a <b [c] & d"}},
		{"Markdown without anything to see", "<br>\n\n``` \n\n```\n&nbsp;", nil},
		{"trimmed", " \n\n hi \n\t\n", []string{" hi"}},
		{"line ends", "a\r\nb\rc\u2028d", []string{"a\nb\nc\nd"}},
		{"control characters", "a\x00b\x1b[0mc\x7fd\te", []string{"ab[0mcd\te"}},
		{"not UTF-8", "a\xffb", []string{"a\ufffdb"}},
		{"A13 empty", "", nil},
		{"A13 white space", " \n\t\u00a0", nil},
		{"A13 nothing to see", "\u200b\u2060\ufeff\u200e\ufe0f\u2800\u3164\x00", nil},
		{"right to left stays", "\u200fשלום\u200e", []string{"\u200fשלום\u200e"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, texts(Text(tt.text, channels.Capabilities{TextMax: 100}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestText_G5_CutAtTheBestPlace(t *testing.T) {
	t.Parallel()
	family := "👨‍👩‍👧" // 5 runes, 8 UTF-16 units, 18 bytes
	tests := []struct {
		name string
		max  int
		unit channels.TextUnit
		text string
		want []string
	}{
		{"fits", 5, "", "abcde", []string{"abcde"}},
		{"no limit", 0, "", strings.Repeat("a ", 9000) + "b", []string{strings.Repeat("a ", 9000) + "b"}},
		{"paragraph before line", 30, "", "one two\n\nthree. four\nfive six seven", []string{"one two", "three. four\nfive six seven"}},
		{"line before sentence", 30, "", "one two three\nfour. five six seven", []string{"one two three", "four. five six seven"}},
		{"sentence before word", 30, "", "one two. three four five six seven", []string{"one two.", "three four five six seven"}},
		{"sentence with a quote", 30, "", "one \"two?\" three four five six seven", []string{"one \"two?\"", "three four five six seven"}},
		{"word", 12, "", "one two three four", []string{"one two", "three four"}},
		{"word exactly at the limit", 7, "", "one two three", []string{"one two", "three"}},
		{"a word isn't cut that fits", 8, "", "a bcdefghi", []string{"a", "bcdefghi"}},
		{"no place but between characters", 4, "", "abcdefghij", []string{"abcd", "efgh", "ij"}},
		{"an early place isn't taken", 40, "", "Hi.\n\n" + strings.Repeat("word ", 10) + "end", []string{"Hi.\n\n" + strings.TrimSpace(strings.Repeat("word ", 7)), "word word word end"}},
		{"non-breaking space holds", 10, "", "aaa bbb\u00a0ccc", []string{"aaa", "bbb\u00a0ccc"}},
		{"indentation stays", 12, "", "– one\n  – two\n  – three", []string{"– one", "  – two", "  – three"}},
		{"chinese sentence", 6, "", "你好吗。我很好，谢谢你", []string{"你好吗。", "我很好，", "谢谢你"}},
		{"surrogate pair stays", 5, channels.UnitUTF16, "👍👍👍👍", []string{"👍👍", "👍👍"}},
		{"bytes", 7, channels.UnitByte, "ñññññ", []string{"ñññ", "ññ"}},
		{"joined emoji stay", 8, "", family + family, []string{family, family}},
		{"joined emoji stay, UTF-16", 9, channels.UnitUTF16, "aa" + family, []string{"aa", family}},
		{"accents stay", 4, "", "abcde\u0301f", []string{"abcd", "e\u0301f"}},
		{"flags stay", 3, "", "🇨🇴🇨🇴", []string{"🇨🇴", "🇨🇴"}},
		{"address stays", 30, "", "see https://example.com/a/b?c=d", []string{"see", "https://example.com/a/b?c=d"}},
		{"address without a space before", 30, "", "看看这个https://example.com/a/b?c=d。好", []string{"看看这个", "https://example.com/a/b?c=d。好"}},
		{"address too long for any part", 20, "", "https://example.com/" + strings.Repeat("a", 25), []string{"https://example.com/", strings.Repeat("a", 20), strings.Repeat("a", 5)}},
		{"link stays", 30, "", "look at this [fine shop](http://a.bc)", []string{"look at this", "fine shop (http://a.bc)"}},
		{"emphasis stays", 20, "", "look at this **very fine shop**", []string{"look at this", "very fine shop"}},
		{"single emphasis stays", 20, "", "look at this *very fine shop*", []string{"look at this", "very fine shop"}},
		{"inline code stays", 20, "", "look at this `a b c d e f`", []string{"look at this", "a b c d e f"}},
		{"bullet stays with its item", 12, "", "- aaaaa\n- bbbbbbbbbb", []string{"• aaaaa", "• bbbbbbbbbb"}},
		{"heading stays with its paragraph", 26, "", "One two three.\n\n# Four\n\nFive six seven", []string{"One two three.", "Four\n\nFive six seven"}},
		{"limit below one character", 1, channels.UnitUTF16, "👍a", []string{"👍", "a"}},
		{"white space beyond the limit", 5, "", "a" + strings.Repeat(" ", 50) + "b", []string{"a", "b"}},
		{"lines beyond the limit", 5, "", "a" + strings.Repeat("\n", 50) + strings.Repeat(" ", 50) + "b", []string{"a", "b"}},
		{"invisible beyond the limit", 5, "", "a" + strings.Repeat("\u2060", 50) + " b", []string{"a\u2060\u2060\u2060\u2060", "\u2060 b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := texts(Text(tt.text, channels.Capabilities{TextMax: tt.max, Unit: tt.unit}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestText_G5_BlocksOfCode(t *testing.T) {
	t.Parallel()
	x, y, z := strings.Repeat("x", 40), strings.Repeat("y", 40), strings.Repeat("z", 40)
	tests := []struct {
		name string
		max  int
		text string
		want []string
	}{
		{"kept whole", 92, "Look at this code, it is " + strings.Repeat("long ", 10) + "\n```go\na := 1\nb := 2\n```\nDone.", []string{"Look at this code, it is " + strings.TrimSpace(strings.Repeat("long ", 10)), "```go\na := 1\nb := 2\n```\nDone."}},
		{"closed and opened", 64, "```go\n" + x + "\n" + y + "\n" + z + "\n```", []string{"```go\n" + x + "\n```", "```go\n" + y + "\n```", "```go\n" + z + "\n```"}},
		{"text before and after", 64, "Code:\n```go\n" + x + "\n" + y + "\n```\nDone.", []string{"Code:\n```go\n" + x + "\n```", "```go\n" + y + "\n```\nDone."}},
		{"indentation stays", 64, "```py\ndef one_" + x[:30] + "():\n    return 12345\n```", []string{"```py\ndef one_" + x[:30] + "():\n```", "```py\n    return 12345\n```"}},
		{"tildes", 64, "~~~~ text\n~~~\n" + x + "\n" + y + "\n~~~~", []string{"```text\n~~~\n" + x + "\n```", "```text\n" + y + "\n```"}},
		{"never closed", 64, "```\n" + x + "\n" + y, []string{"```\n" + x + "\n```", "```\n" + y + "\n```"}},
		{"one long line", 64, "```\n" + strings.TrimSpace(strings.Repeat("aaaa ", 20)) + "\n```", []string{"```\n" + strings.TrimSpace(strings.Repeat("aaaa ", 11)) + "\n```", "```\n" + strings.TrimSpace(strings.Repeat("aaaa ", 9)) + "\n```"}},
		{"backticks within a line aren't a fence", 64, "``` a ``` b", []string{"`a` b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := texts(Text(tt.text, channels.Capabilities{TextMax: tt.max, Markup: channels.MarkupDiscord}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuestion_B9(t *testing.T) {
	t.Parallel()
	yesNo := []channels.Button{{ID: "0123456789abcdef.y", Label: "Yes", Value: "yes"}, {ID: "0123456789abcdef.n", Label: "No", Value: "no"}}
	limits := func(textMax int) channels.Capabilities {
		return channels.Capabilities{TextMax: 40, Buttons: &channels.ButtonLimits{Max: 3, LabelMax: 20, IDBytes: 64, TextMax: textMax}}
	}
	tests := []struct {
		name    string
		text    string
		buttons []channels.Button
		caps    channels.Capabilities
		want    []string
		err     error
	}{
		{"one message", "Do you confirm?", yesNo, limits(20), []string{"Do you confirm?"}, nil},
		{"past the limit of buttons", "About to: Pay\n• A: 1\nDo you confirm?", yesNo, limits(20), []string{"About to: Pay\n• A: 1", "Do you confirm?"}, nil},
		{"without buttons their limit doesn't matter", "About to: Pay\n• A: 1\nDo you confirm?", nil, limits(20), []string{"About to: Pay\n• A: 1\nDo you confirm?"}, nil},
		{"no limit of its own", "About to: Pay\n• A: 1\nDo you confirm?", yesNo, limits(0), []string{"About to: Pay\n• A: 1\nDo you confirm?"}, nil},
		{"the platform's limit still counts", strings.Repeat("a", 50), yesNo, limits(1000), []string{strings.Repeat("a", 40), strings.Repeat("a", 10)}, nil},
		{"four messages", strings.Repeat("a", 80), yesNo, limits(20), []string{strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20)}, nil},
		{"five messages", strings.Repeat("a", 81), yesNo, limits(20), nil, ErrTooLong},
		{"fences are literal", "```\n" + strings.Repeat("a", 20) + "\n```", yesNo, limits(20), []string{"```", strings.Repeat("a", 20), "```"}, nil},
		{"no buttons there", "Sure?", yesNo, channels.Capabilities{}, nil, ErrButtons},
		{"too many", "Sure?", yesNo, channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 1}}, nil, ErrButtons},
		{"id too long", "Sure?", yesNo, channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 2, IDBytes: 10}}, nil, ErrButtons},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Question(tt.text, tt.buttons, tt.caps)
			if !errors.Is(err, tt.err) || err != nil && tt.err == nil {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i, p := range got {
				var want []channels.Button
				if i == len(got)-1 {
					want = tt.buttons
				}
				if diff := cmp.Diff(want, p.Buttons); diff != "" {
					t.Errorf("buttons of message %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
	if _, err := Question(" \n", yesNo, limits(20)); err == nil {
		t.Error("a question without text was rendered")
	}
}

func TestQuestion_B20_Labels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		label string
		max   int
		want  string
	}{
		{"Yes", 3, "Yes"},
		{"Yes, do it", 0, "Yes, do it"},
		{"Yes, do it", 6, "Yes,…"},
		{"Sí, señorita", 7, "Sí, se…"},
		{"ok 👩‍🍳", 5, "ok…"},
		{"👩‍🍳👩‍🍳", 2, "👩\u200d"},
		{"a\nb\x00", 20, "a b"},
		{" \u200b", 20, "yes"},
	}
	for _, tt := range tests {
		caps := channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 1, LabelMax: tt.max}}
		given := []channels.Button{{ID: "0123456789abcdef.y", Label: tt.label, Value: "yes"}}
		got, err := Question("Sure?", given, caps)
		if err != nil {
			t.Fatal(err)
		}
		if got := got[0].Buttons[0]; got.Label != tt.want || got.ID != given[0].ID || got.Value != "yes" {
			t.Errorf("label %q at most %d: %+v, want %q", tt.label, tt.max, got, tt.want)
		}
		if given[0].Label != tt.label {
			t.Error("the caller's buttons were changed")
		}
	}
}

// Labels that begin alike are cut to the same: WhatsApp takes no question whose
// buttons can't be told apart.
func TestQuestion_B20_LabelsThatAreCutToTheSame(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		yes, no string
		want    []string
	}{
		"begin alike":     {"Confirm the order of today", "Confirm the order of yesterday", []string{"yes", "no"}},
		"in another case": {"OK", "ok", []string{"yes", "no"}},
		"nothing to see":  {" \u200b", "Yes", []string{"yes", "no"}},
		"differ":          {"Place the order as it stands", "Don't", []string{"Place the order as…", "Don't"}},
	} {
		caps := channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 3, LabelMax: 20}}
		got, err := Question("Sure?", []channels.Button{{ID: "a", Label: tt.yes, Value: "yes"}, {ID: "b", Label: tt.no, Value: "no"}}, caps)
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, b := range got[0].Buttons {
			labels = append(labels, b.Label)
		}
		if diff := cmp.Diff(tt.want, labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
