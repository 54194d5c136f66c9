package app

import (
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/llm"
)

func TestLanguages_F1_WhereTheLanguageComesFrom(t *testing.T) {
	t.Parallel()
	const es, en = "Voy a: Place order\n• 2 × coffee\n¿Confirmas?", question
	cases := []struct {
		name, bot, user, command string
		want                     string
	}{
		{"bot's", "es", "", "", es},
		{"person's", "en", "es-CO", "", es},
		{"person's before the bot's", "es", "en", "", en},
		{"unknown: the bot's", "es", "tlh", "", es},
		{"unknown everywhere: English", "tlh", "xx", "", en},
		{"by command", "en", "en", "/lang es", es},
		{"by a wrong command", "es", "", "/lang tlh", es},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, withTools(placeOrder(returns(`1`))), withYAML("bot: {lang: "+c.bot+"}"))
			b.user.Lang = c.user
			n := 1
			if c.command != "" {
				b.say(c.command)
				b.message(1)
				n++
			}
			b.model.then(calls("place_order", twoCoffees))
			b.say("coffee")
			b.wants(n, c.want)
			sys := strings.Join(b.model.requests()[0].System, "\n")
			if spanish := strings.Contains(sys, "en español"); spanish != (c.want == es) {
				t.Fatalf("prompt %q", sys)
			}
		})
	}
}

func TestLanguages_F1_CommandIsKept(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.say("/lang es")
	b.wants(1, "De ahora en adelante escribiré en español.")
	b.restart()
	b.model.then(fails(llm.BadRequest))
	b.say("hola")
	b.wants(2, "Lo siento, algo falló de mi lado. Inténtalo de nuevo en un momento.")
	b.say("/cancel")
	b.wants(3, "No hay nada que cancelar.")
}

func TestLanguages_F2_Overrides(t *testing.T) {
	t.Parallel()
	const own = `locale:
  en: {ai: {tools: {confirm: "Run {tool}?{args}"}}}
  de: {ai: {error: "Das ging schief.", tools: {confirm: "Jetzt: {tool}{args}", button: {yes: Ja, no: Nein}}}}`
	t.Run("confirm is reused for buttons", func(t *testing.T) {
		t.Parallel()
		b, _ := newOrder(t, withYAML(own))
		b.wants(1, "Run Place order?\n• 2 × coffee")
	})
	t.Run("typed", func(t *testing.T) {
		t.Parallel()
		b, _ := newOrder(t, withYAML(own), withCaps(channeltest.TextOnly()))
		b.wants(1, "Run Place order?\n• 2 × coffee")
	})
	t.Run("a new language", func(t *testing.T) {
		t.Parallel()
		b, _ := newOrder(t, withYAML(own), func(b *bed) { b.user.Lang = "de-AT" })
		m := b.message(1)
		if m.Text != "Jetzt: Place order\n• 2 × coffee" || m.Buttons[0].Label != "Ja" {
			t.Fatalf("%q %+v", m.Text, m.Buttons)
		}
		b.model.mu.Lock()
		b.model.next = []answer{fails(llm.BadRequest)}
		b.model.mu.Unlock()
		b.press("no")
		b.wants(2, "Das ging schief.")
		b.closed(1, m.Text+"\n→ Nein")
	})
}
