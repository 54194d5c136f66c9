package app

import (
	"encoding/json"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/tool"
)

// speaking is a platform with buttons and edits that speaks the dialect.
func speaking(m channels.Markup) option {
	c := channeltest.Rich()
	c.Caps.Markup = m
	return withCaps(c)
}

// noted is a confirming tool with one text.
func noted() tool.Tool {
	tl := placeOrder(returns(`1`))
	tl.Schema = json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}`)
	return tl
}

// A value is shown as it is, in the question as in what it is edited to.
func TestConfirm_B9_ValuesAreLiteralInEveryDialect(t *testing.T) {
	t.Parallel()
	const thin = "\u200b"
	for m, shown := range map[channels.Markup]string{
		channels.MarkupPlain:    "**free** <b>x</b>",
		channels.MarkupHTML:     "**free** <b>x</b>",
		channels.MarkupDiscord:  `\*\*free\*\* \<b>x\</b>`,
		channels.MarkupWhatsApp: thin + "*" + thin + thin + "*" + thin + "free" + thin + "*" + thin + thin + "*" + thin + " <b>x</b>",
	} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, withTools(noted()), speaking(m))
			b.model.then(calls("place_order", `{"note":"**free** <b>x</b>"}`), says("done"))
			b.say("note that")
			text := "About to: Place order\n• Note: " + shown + "\nDo you confirm?"
			b.asked(1)
			b.wants(1, text)
			b.press("yes")
			b.wants(2, "done")
			b.closed(1, text+"\n→ Yes")
		})
	}
}

// What the model writes is rendered for the platform.
func TestLoop_A13_RepliesAreRendered(t *testing.T) {
	t.Parallel()
	for m, shown := range map[channels.Markup]string{
		channels.MarkupPlain:    "Hi, see docs (https://a.b)",
		channels.MarkupHTML:     `Hi, <b>see</b> <a href="https://a.b">docs</a>`,
		channels.MarkupDiscord:  "Hi, **see** [docs](https://a.b)",
		channels.MarkupWhatsApp: "Hi, *see* docs (https://a.b)",
	} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, speaking(m))
			b.model.then(says("Hi, **see** [docs](https://a.b)"))
			b.say("hi")
			b.wants(1, shown)
		})
	}
}
