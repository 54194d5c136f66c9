package platforms

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/app"
)

// row is one line of the table: an adapter in one of its uses.
type row struct {
	title, kind string
	of          string // the platform's name in open()
}

func rows() []row {
	return []row{
		{"[Telegram](telegram.md)", "telegram", "telegram_polling"},
		{"[Discord](discord.md)", "discord", "discord_gateway"},
		{"[WhatsApp by Meta's Cloud API](whatsapp-cloud.md)", "whatsapp_cloud", "whatsapp_cloud"},
		{"[WhatsApp as a linked device](whatsapp-web.md)", "whatsapp_web", "whatsapp_web"},
		{"[WhatsApp by Twilio](twilio.md)", "twilio", "twilio_whatsapp"},
		{"[SMS by Twilio](twilio.md)", "twilio", "twilio_sms"},
		{"[Web chat](web-chat-api.md)", "webchat", "webchat"},
		{"Terminal (`parley chat`)", "console", "console"},
	}
}

const (
	docFile = "../../docs/channels.md"
	begin   = "<!-- Written by go test ./e2e/platforms -run Channels -update from what the adapters say. -->\n"
	end     = "<!-- End of what is written. -->\n"
)

// TestChannels_DocSaysWhatAdaptersSay keeps the table of docs/channels.md.
func TestChannels_DocSaysWhatAdaptersSay(t *testing.T) {
	t.Parallel()
	var kinds []string
	var b strings.Builder
	b.WriteString("\n| channel | longest message | text | questions | once answered | typing is shown | topics | private notices | the bot may write | sends at the most |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows() {
		p := open()[r.of](t)
		kinds = append(kinds, r.kind)
		fmt.Fprintf(&b, "| %s |\n", strings.Join(append([]string{r.title}, cells(p.caps())...), " | "))
	}
	b.WriteString("\n")
	known := app.Kinds().ChannelKinds
	slices.Sort(known)
	slices.Sort(kinds)
	if diff := cmp.Diff(known, slices.Compact(kinds)); diff != "" {
		t.Errorf("kinds of channels (-) and rows of the table (+):\n%s", diff)
	}
	raw, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	had, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", docFile)
	}
	if *update {
		if err := os.WriteFile(docFile, []byte(head+begin+b.String()+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), had); diff != "" {
		t.Errorf("docs/channels.md is out of date: go test ./e2e/platforms -run Channels -update\n%s", diff)
	}
}

// cells are capabilities in words.
func cells(c channels.Capabilities) []string {
	text := map[channels.Markup]string{
		channels.MarkupPlain: "plain", channels.MarkupHTML: "formatted (HTML)", channels.MarkupDiscord: "formatted (Markdown)",
		channels.MarkupWhatsApp: "formatted (`*bold*`, `_italic_`)",
	}[c.Markup]
	window := "at any time"
	if c.ReplyWindow > 0 {
		window = span(c.ReplyWindow) + " after a person's last message"
	}
	return []string{limit(c.TextMax, c.Unit), text, questions(c), answered(c), mark(c.Typing > 0), mark(c.Threads), mark(c.Private), window, budget(c.Budget)}
}

func limit(n int, u channels.TextUnit) string {
	if n == 0 {
		return "any"
	}
	unit := map[channels.TextUnit]string{channels.UnitRune: "characters", channels.UnitUTF16: "UTF-16 units", channels.UnitByte: "bytes"}[u]
	return fmt.Sprint(n, " ", unit)
}

func questions(c channels.Capabilities) string {
	switch b := c.Buttons; {
	case b == nil:
		return "in words (yes/no)"
	case b.TextMax > 0:
		return fmt.Sprintf("buttons, below up to %s", limit(b.TextMax, c.Unit))
	}
	return "buttons"
}

func answered(c channels.Capabilities) string {
	switch {
	case c.Buttons == nil:
		return "nothing changes; a late yes is ordinary text"
	case c.Edit.Text:
		return "the buttons go, the choice is shown"
	}
	return "the buttons stay; a late press is told so"
}

func mark(has bool) string {
	if has {
		return "yes"
	}
	return "–"
}

func budget(b channels.Budget) string {
	var out []string
	for _, r := range []struct {
		channels.Rate
		of string
	}{{b.Chat, "a chat"}, {b.Account, "the account"}} {
		if r.Sends > 0 && r.Per > 0 {
			out = append(out, fmt.Sprintf("%d in %s for %s", r.Sends, span(r.Per), r.of))
		}
	}
	if len(out) == 0 {
		return "as the platform allows"
	}
	return strings.Join(out, ", ")
}

// span is a duration as people write it.
func span(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if s != d.String() && !strings.HasSuffix(s, "m") {
		return d.String()
	}
	if h := strings.TrimSuffix(s, "0m"); h != s && strings.HasSuffix(h, "h") {
		s = h
	}
	return s
}
