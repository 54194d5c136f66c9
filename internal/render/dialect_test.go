package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
)

func TestText_Dialects(t *testing.T) {
	t.Parallel()
	grid := "Name   Price\n-----  -----\nCake    5.00\nBread  12.50"
	tests := []struct {
		name, text                     string
		plain, html, discord, whatsapp string
	}{
		{"bold, italic, struck", "**b** *i* __b__ _i_ ~~s~~", "b i b i s",
			"<b>b</b> <i>i</i> <b>b</b> <i>i</i> <s>s</s>", "**b** _i_ **b** _i_ ~~s~~", "*b* _i_ *b* _i_ ~s~"},
		{"nested", "**a *b* c**, ***d***", "a b c, d",
			"<b>a <i>b</i> c</b>, <i><b>d</b></i>", "**a _b_ c**, _**d**_", "*a _b_ c*, _*d*_"},
		{"within a word", "a**b**c", "abc", "a<b>b</b>c", "a**b**c", "abc"},
		{"side by side", "**a***b*", "ab", "<b>a</b><i>b</i>", "**a**" + thin + "*b*", "ab"},
		{"marks are closed at white space", "**a** x", "a x", "<b>a</b> x", "**a** x", "*a* x"},
		{"code", "use `a*b` and ``c`d``", "use a*b and c`d",
			"use <code>a*b</code> and <code>c`d</code>", "use `a*b` and ``c`d``", "use `a*b` and c`d"},
		{"code ends other styles", "**a `b` c**", "a b c", "<b>a</b> <code>b</code> <b>c</b>", "**a** `b` **c**", "*a* `b` *c*"},
		{"block of code", "x\n```go\nif a < b {\n\tc(\"*d*\")\n}\n```\ny", "x\nif a < b {\n\tc(\"*d*\")\n}\ny",
			"x\n<pre><code class=\"language-go\">if a &lt; b {\n\tc(&quot;*d*&quot;)\n}</code></pre>\ny",
			"x\n```go\nif a < b {\n\tc(\"*d*\")\n}\n```\ny", "x\n```\nif a < b {\n\tc(\"*d*\")\n}\n```\ny"},
		{"heading", "# One **two**\ntext\n#### Four", "One two\ntext\nFour",
			"<b>One two</b>\ntext\n<b>Four</b>", "# One **two**\ntext\n**Four**", "*One two*\ntext\n*Four*"},
		{"quote", "> a\n> **b**\n\nc", "> a\n> b\n\nc", "<blockquote>a\n<b>b</b></blockquote>\n\nc", "> a\n> **b**\n\nc", "> a\n> *b*\n\nc"},
		{"lists", "- a\n  - b\n    c\n* d\n\n3. e\n4) f", "• a\n  • b\n    c\n• d\n\n3. e\n4) f",
			"• a\n  • b\n    c\n• d\n\n3. e\n4) f", "- a\n  - b\n    c\n- d\n\n3. e\n4. f", "- a\n  - b\n    c\n- d\n\n3. e\n4. f"},
		{"link", "[docs](https://a.b/c_(d)?e=\"f\"&g)", "docs (https://a.b/c_(d)?e=%22f%22&g)",
			`<a href="https://a.b/c_(d)?e=%22f%22&amp;g">docs</a>`, "[docs](https://a.b/c_%28d%29?e=%22f%22&g)", "docs (https://a.b/c_(d)?e=%22f%22&g)"},
		{"link by reference", "[docs][1]\n\n[1]: https://a.b", "docs (https://a.b)", `<a href="https://a.b">docs</a>`, "[docs](https://a.b)", "docs (https://a.b)"},
		{"definition that nothing refers to", "*x*\n\n[1]: https://a.b_c", "x\n\n[1]: https://a.b_c",
			"<i>x</i>\n\n[1]: https://a.b_c", "_x_\n\n\\[1]: https://a.b_c", "_x_\n\n[1]: https://a.b_c"},
		{"addresses", "https://a.b/c_d_e <https://f.g> **x**", "https://a.b/c_d_e https://f.g x",
			"https://a.b/c_d_e https://f.g <b>x</b>", "https://a.b/c_d_e https://f.g **x**", "https://a.b/c_d_e https://f.g *x*"},
		{"a link that says it leads elsewhere", "[https://bank.com](https://evil.com) [bank.com/x](https://evil.com)",
			"https://bank.com (https://evil.com) bank.com/x (https://evil.com)", "https://bank.com (https://evil.com) bank.com/x (https://evil.com)",
			"https://bank.com (https://evil.com) bank.com/x (https://evil.com)", "https://bank.com (https://evil.com) bank.com/x (https://evil.com)"},
		{"a link that is its text", "[a.b/c](https://a.b/c/) [x@y.z](mailto:x@y.z)", "https://a.b/c/ x@y.z", "https://a.b/c/ x@y.z", "https://a.b/c/ x@y.z", "https://a.b/c/ x@y.z"},
		{"a link to code", "[x](javascript:alert) **y**", "x (javascript:alert) y", "x (javascript:alert) <b>y</b>", "x (javascript:alert) **y**", "x (javascript:alert) *y*"},
		{"image", "![a cake](https://a.b/c.png)", "a cake (https://a.b/c.png)", `<a href="https://a.b/c.png">a cake</a>`, "[a cake](https://a.b/c.png)", "a cake (https://a.b/c.png)"},
		{"table that fits", "|Name|Price|\n|---|--:|\n|Cake|5.00|\n|**Bread**|12.50|",
			"Name: Cake\nPrice: 5.00\n\nName: Bread\nPrice: 12.50", "<pre>" + grid + "</pre>", "```\n" + grid + "\n```", "```\n" + grid + "\n```"},
		{"table with links", "|A|B|\n|---|---|\n|x|[y](https://a.b)|", "A: x\nB: y (https://a.b)",
			"<b>A:</b> x\n<b>B:</b> <a href=\"https://a.b\">y</a>", "**A:** x\n**B:** [y](https://a.b)", "*A:* x\n*B:* y (https://a.b)"},
		{"rule", "a\n\n---\n\nb", "a\n\n———\n\nb", "a\n\n———\n\nb", "a\n\n———\n\nb", "a\n\n———\n\nb"},
		{"HTML", "a<br>b <u>c</u> <b>d</b> <script>e</script> &amp; &lt;f&gt; <u>g", "a\nb c d <script>e</script> & <f> <u>g",
			"a\nb <u>c</u> <b>d</b> &lt;script&gt;e&lt;/script&gt; &amp; &lt;f&gt; &lt;u&gt;g",
			"a\nb __c__ **d** \\<script>e\\</script> & \\<f> \\<u>g", "a\nb c *d* <script>e</script> & <f> <u>g"},
		{"escaped", `\*a\* \_b\_`, "*a* _b_", "*a* _b_", `\*a\* \_b\_`,
			thin + "*" + thin + "a" + thin + "*" + thin + " " + thin + "_" + thin + "b" + thin + "_" + thin},
		{"never closed", "**a and `b", "**a and `b", "**a and `b", "\\*\\*a and \\`b",
			thin + "*" + thin + thin + "*" + thin + "a and " + thin + "`" + thin + "b"},
		{"mentions", "**x** <@1> @everyone", "x <@1> @everyone", "<b>x</b> &lt;@1&gt; @everyone", "**x** \\<@1> @everyone", "*x* <@1> @everyone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for m, want := range map[channels.Markup]string{"": tt.plain, "html": tt.html, "discord": tt.discord, "whatsapp": tt.whatsapp} {
				got := Text(tt.text, channels.Capabilities{Markup: m, TextMax: 1000})
				if diff := cmp.Diff([]string{want}, texts(got)); diff != "" {
					t.Errorf("%q (-want +got):\n%s", m, diff)
				}
			}
		})
	}
}

func TestText_Plain_IsTheFallback(t *testing.T) {
	t.Parallel()
	got := Text("**a** [b](https://c.d)\n> e & f", channels.Capabilities{Markup: channels.MarkupHTML})
	want := []Rendered{{
		Text:   "<b>a</b> <a href=\"https://c.d\">b</a>\n<blockquote>e &amp; f</blockquote>",
		Markup: channels.MarkupHTML, Plain: "a b (https://c.d)\n> e & f",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = Text("a < b & c_d", channels.Capabilities{Markup: channels.MarkupHTML})
	if diff := cmp.Diff([]Rendered{{Text: "a < b & c_d"}}, got); diff != "" {
		t.Errorf("text without styles (-want +got):\n%s", diff)
	}
}

// What is open at a cut is closed before it and opened again behind it.
func TestText_G5_StylesOverCuts(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 30)) // 149
	tests := []struct {
		name   string
		markup channels.Markup
		text   string
		want   []string
	}{
		{"html", channels.MarkupHTML, "> **" + long + "**", []string{
			"<blockquote><b>" + long[:99] + "</b></blockquote>", "<blockquote><b>" + long[100:] + "</b></blockquote>",
		}},
		{"discord", channels.MarkupDiscord, "> **" + long + "**", []string{"> **" + long[:94] + "**", "> **" + long[95:] + "**"}},
		{"whatsapp", channels.MarkupWhatsApp, "> **" + long + "**", []string{"> *" + long[:94] + "*", "> *" + long[95:] + "*"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Text(tt.text, channels.Capabilities{TextMax: 101, Markup: tt.markup})
			if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Telegram counts characters behind its entities, but takes a bounded amount
// of HTML and of entities.
func TestText_G5_TelegramLimits(t *testing.T) {
	t.Parallel()
	caps := channels.Capabilities{TextMax: 4096, Unit: channels.UnitUTF16, Markup: channels.MarkupHTML}
	for name, text := range map[string]string{
		"what is escaped":  strings.Repeat("\"&<", 1365) + "**b**",
		"many entities":    strings.Repeat("**a** b\n", 1000),
		"many long links":  strings.Repeat("[a](https://example.com/"+strings.Repeat("x", 900)+") ", 200),
		"quotes of quotes": strings.Repeat("> a `b`\n", 500),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := Text(text, caps)
			for i, p := range parts {
				seen, err := readHTML(p.Text)
				if err != nil {
					t.Fatalf("part %d: %v", i, err)
				}
				if n := Length(seen, caps.Unit); n > 4096 || len(p.Text) > maxHTMLBytes || strings.Count(p.Text, "<")/2 > maxHTMLMarks || Length(p.Plain, caps.Unit) > 4096 {
					t.Errorf("part %d: %d units, %d bytes, %d entities, plain %d", i, n, len(p.Text), strings.Count(p.Text, "<")/2, len(p.Plain))
				}
			}
			if name == "what is escaped" && len(parts) != 1 {
				t.Errorf("%d parts: escapes were counted", len(parts))
			}
		})
	}
}

// Values of a question are shown as they are, whatever the dialect.
func TestQuestion_B9_ValuesAreLiteral(t *testing.T) {
	t.Parallel()
	text := "About to: Pay\n• To: **Ana** <b>x</b> `y`\n- z [a](https://b.c/d_e)\n# f\n> g\n1. h"
	want := map[channels.Markup]string{
		channels.MarkupPlain: text,
		channels.MarkupHTML:  text, // sent without parse_mode
		channels.MarkupDiscord: "About to: Pay\n• To: \\*\\*Ana\\*\\* \\<b>x\\</b> \\`y\\`\n\\- z \\[a](https://b.c/d_e)\n" +
			"\\# f\n\\> g\n1\\. h",
		channels.MarkupWhatsApp: "About to: Pay\n• To: |*||*|Ana|*||*| <b>x</b> |`|y|`|\n|- z [a](https://b.c/d_e)\n# f\n|> g\n|1. h",
	}
	for m, w := range want {
		w = strings.ReplaceAll(w, "|", thin)
		caps := channels.Capabilities{Markup: m, Buttons: &channels.ButtonLimits{Max: 2}}
		for _, buttons := range [][]channels.Button{nil, {{ID: "0123456789abcdef", Label: "*Yes*", Value: "yes"}}} {
			parts, err := Question(text, buttons, caps)
			if err != nil || len(parts) != 1 {
				t.Fatalf("%q: %v, %v", m, parts, err)
			}
			if diff := cmp.Diff(w, parts[0].Text); diff != "" {
				t.Errorf("%q (-want +got):\n%s", m, diff)
			}
			if shown := parts[0].Markup != channels.MarkupPlain; shown != (w != text) || shown && parts[0].Plain != text {
				t.Errorf("%q: markup %q, plain %q", m, parts[0].Markup, parts[0].Plain)
			}
			if len(buttons) > 0 && parts[0].Buttons[0].Label != "*Yes*" {
				t.Errorf("%q: label %q", m, parts[0].Buttons[0].Label)
			}
		}
		if got := Literal(text, caps); got.Text != w {
			t.Errorf("Literal in %q: %q", m, got.Text)
		}
	}
}

// Escapes count: a question full of marks takes more messages, and is refused
// where it takes too many.
func TestQuestion_B9_EscapesCount(t *testing.T) {
	t.Parallel()
	caps := channels.Capabilities{Markup: channels.MarkupDiscord, TextMax: 100}
	parts, err := Question(strings.Repeat("*", 150), nil, caps)
	if err != nil || len(parts) != 3 {
		t.Errorf("%d parts, %v", len(parts), err)
	}
	if _, err := Question(strings.Repeat("*", 201), nil, caps); !errors.Is(err, ErrTooLong) {
		t.Errorf("error %v", err)
	}
}

// What is written to be slow to parse isn't.
func TestText_Hostile(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"quotes": ">", "lists": "- ", "stars": "*a ", "brackets": "[", "links": "[a](", "backticks": "`a``", "ampersands": "&", "tags": "<b>",
		"tables": "|a|b|\n|-|-|\n", "fences": "```\n", "images": "![", "underscores": "_a", "addresses": "http://", "definitions": "[a]: b\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(unit, 8000/len(unit))
			for _, m := range markupsAll() {
				for i, p := range Text(text, channels.Capabilities{Markup: m, TextMax: 2000}) {
					read(t, p, m, channels.UnitRune, rawIn(lay(text, dialectOf(m).traits())))
					if Length(p.Plain, channels.UnitRune) > 2000 {
						t.Errorf("%q part %d is too long", m, i)
					}
				}
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	short := "Hello Ana! Your order of 5 chocolate cakes is confirmed for Friday - we will call you."
	long := strings.Repeat("## Title\n\nSome **bold** text with `code` and a [link](https://example.com/a).\n\n- one\n- two\n\n", 40)
	for name, text := range map[string]string{"short": short, "spanish": "¡Hola, Ana! Tu pedido está confirmado: mañana a las 9.", "bold": "Hello **Ana**!", "long": long} {
		for _, m := range []channels.Markup{channels.MarkupPlain, channels.MarkupHTML} {
			b.Run(name+"/"+string(m), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Text(text, channels.Capabilities{TextMax: 4096, Unit: channels.UnitUTF16, Markup: m})
				}
			})
		}
	}
}
