package bakery

import (
	"testing"
)

const (
	twoCroissants = "Place order\n• 2 × Croissant: $5.90\nTotal: $5.90"
	coffeesAndOne = "Place order\n• 2 × Coffee: $4.50\n• 1 × Croissant: $2.95\nTotal: $7.45"
)

// Each is one turn in a fresh chat, with Yes to every question.
func TestModel_FirstMessages(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	for _, tc := range []struct{ lang, say, want, question string }{
		// Orders.
		{"en", "I'd like to order 2 croissants, please", `^Done! Your order is P-1001: 2 × Croissant\. Total: \$5\.90\.$`, twoCroissants},
		{"en", "i’d like to order 2 croissants please", `P-1001: 2 × Croissant`, twoCroissants},
		{"en", "2 coffee", `2 × Coffee`, "Place order\n• 2 × Coffee: $4.50\nTotal: $4.50"},
		{"en", "two coffees and a croissant", `2 × Coffee, 1 × Croissant`, coffeesAndOne},
		{"en", "two coffees and a croissant please", `2 × Coffee, 1 × Croissant`, coffeesAndOne},
		{"en", "Hi! Two coffees and a croissant, please. Thanks!", `2 × Coffee, 1 × Croissant`, coffeesAndOne},
		{"en", "could I get 2 coffees and one croissant?", `2 × Coffee, 1 × Croissant`, coffeesAndOne},
		{"en", "can i have a coffee", `1 × Coffee`, "Place order\n• 1 × Coffee: $2.25\nTotal: $2.25"},
		{"en", "COFFEE", `1 × Coffee`, "Place order\n• 1 × Coffee: $2.25\nTotal: $2.25"},
		{"en", "half a dozen cinnamon rolls", `6 × Cinnamon roll`, "Place order\n• 6 × Cinnamon roll: $21.00\nTotal: $21.00"},
		{"en", "a dozen croissants and a chocolate cake for saturday", `12 × Croissant, 1 × Chocolate cake`, "Place order\n• 12 × Croissant: $35.40\n• 1 × Chocolate cake: $24.00\nTotal: $59.40"},
		{"en", "I want 3 rye breads, 2 baguettes and 1 cheese bread", `3 × Rye bread, 2 × Baguette, 1 × Cheese bread`, "Place order\n• 3 × Rye bread: $13.50\n• 2 × Baguette: $5.50\n• 1 × Cheese bread: $2.50\nTotal: $21.50"},
		{"es", "quiero 2 cafés y un croissant", `^¡Listo! Tu pedido es el P-1001: 2 × Café, 1 × Croissant\. Total: `, "Place order\n• 2 × Café: 4,50 US$\n• 1 × Croissant: 2,95 US$\nTotal: 7,45 US$"},
		{"es", "Quisiera dos cafes y un cruasán por favor", `2 × Café, 1 × Croissant`, "Place order\n• 2 × Café: 4,50 US$\n• 1 × Croissant: 2,95 US$\nTotal: 7,45 US$"},
		{"es", "¿me das un té y una torta de chocolate?", `1 × Té, 1 × Torta de chocolate`, "Place order\n• 1 × Té: 1,95 US$\n• 1 × Torta de chocolate: 24,00 US$\nTotal: 25,95 US$"},
		{"es", "¿te puedo pedir 2 cafés?", `: 2 × Café\.`, "Place order\n• 2 × Café: 4,50 US$\nTotal: 4,50 US$"},
		{"es", "te pido un té y dos cafés", `1 × Té, 2 × Café`, "Place order\n• 1 × Té: 1,95 US$\n• 2 × Café: 4,50 US$\nTotal: 6,45 US$"},
		{"es", "media docena de panes de queso", `6 × Pan de queso`, "Place order\n• 6 × Pan de queso: 15,00 US$\nTotal: 15,00 US$"},
		{"es", "hola, un café", `1 × Café`, "Place order\n• 1 × Café: 2,25 US$\nTotal: 2,25 US$"},
		// Spanish typed into an English chat: the answer is Spanish.
		{"en", "quiero 2 cafés y un croissant", `Tu pedido es el P-1001: 2 × Café, 1 × Croissant\. Total: \$7\.45`, coffeesAndOne},
		// Prices and the menu.
		{"en", "how much are 3 croissants?", `^• 3 × Croissant: \$8\.85\nTotal: \$8\.85$`, ""},
		{"en", "How much would it be if I order 3 croissants and a tea?", `3 × Croissant: \$8\.85\n• 1 × Tea: \$1\.95\nTotal: \$10\.80`, ""},
		{"en", "how much is a coffee", `1 × Coffee: \$2\.25`, ""},
		{"en", "what's the price of a rye bread?", `1 × Rye bread: \$4\.50`, ""},
		{"en", "prices?", `Here is our menu:\n• Rye bread: \$4\.50\n.*• Tea: \$1\.95`, ""},
		{"en", "what do you have?", `Here is our menu:.*Chocolate cake: \$24\.00`, ""},
		{"en", "show me the menu", `Here is our menu`, ""},
		{"en", "menu", `Here is our menu`, ""},
		{"en", "what can I order?", `Here is our menu`, ""},
		{"en", "I want to order", `Here is our menu.*What would you like`, ""},
		{"en", "I'd like to place an order", `Here is our menu`, ""},
		{"en", "I'd like something to eat", `menu`, ""},
		{"en", "do you have croissants?", `Yes, we do:\n• 1 × Croissant: \$2\.95`, ""},
		{"en", "I'd like some bread", `Which bread.*Rye bread`, ""},
		{"es", "¿cuánto cuestan 3 croissants?", `3 × Croissant: 8,85 US\$\nTotal: 8,85 US\$`, ""},
		{"es", "cuanto vale el café", `1 × Café: 2,25 US\$`, ""},
		{"es", "¿qué tienen?", `Esta es nuestra carta:\n• Pan de centeno: 4,50 US\$`, ""},
		{"es", "la carta por favor", `Esta es nuestra carta`, ""},
		{"es", "¿tienen torta de chocolate?", `Sí, tenemos:\n• 1 × Torta de chocolate`, ""},
		{"es", "quiero pedir", `Esta es nuestra carta`, ""},
		{"es", "un pan", `¿Qué pan te gustaría`, ""},
		// What there isn't.
		{"en", "a pizza please", `“pizza” isn't on our menu.*Croissant`, ""},
		{"en", "Pizza", `“Pizza” isn't on our menu`, ""},
		{"en", "2 coffees and a pizza", `“pizza” isn't on our menu, so I haven't ordered anything`, ""},
		{"en", "I'd like a unicorn", `can't find that on our menu.*Croissant`, ""},
		{"es", "quiero una pizza", `«pizza» no está en la carta`, ""},
		{"es", "quisiera un unicornio", `no lo encuentro en la carta`, ""},
		{"en", "99 croissants", `from 1 to 50`, ""},
		{"en", "0 croissants", `from 1 to 50`, ""},
		{"es", "quiero 51 cafés", `de 1 a 50`, ""},
		// Orders that aren't there.
		{"en", "what did I order?", `You haven't ordered anything yet`, ""},
		{"en", "list my orders", `You haven't ordered anything yet`, ""},
		{"en", "cancel my order", `no active order to cancel`, ""},
		{"en", "cancel P-4711", `There is no active order P-4711`, "Cancel order\n• Order: P-4711"},
		{"en", "change it to 3", `no active order to change`, ""},
		{"es", "¿qué pedí?", `Todavía no has pedido nada`, ""},
		{"es", "cancela mi pedido", `No tienes ningún pedido activo`, ""},
		{"es", "cambia el pedido P-4711 a 2 cafés", `No hay ningún pedido activo P-4711`, "Change order\n• Pedido: P-4711\n• 2 × Café: 4,50 US$\nTotal: 4,50 US$"},
		// About the bot, and small talk.
		{"en", "hello", `^Hello! Welcome to La Espiga`, ""},
		{"en", "Hi there", `^Hello!`, ""},
		{"en", "good morning!", `^Hello!`, ""},
		{"es", "hola", `^¡Hola! Te damos la bienvenida`, ""},
		{"es", "Buenos días", `^¡Hola!`, ""},
		{"en", "hola", `^¡Hola!`, ""},
		{"en", "who are you?", `assistant of La Espiga`, ""},
		{"en", "are you a robot?", `a program, not a person`, ""},
		{"es", "¿quién eres?", `asistente de La Espiga`, ""},
		{"en", "help", `I can show you the menu`, ""},
		{"es", "ayuda", `Puedo mostrarte la carta`, ""},
		{"en", "thanks!", `You're welcome`, ""},
		{"en", "thank you very much", `You're welcome`, ""},
		{"es", "muchas gracias", `¡Con gusto!`, ""},
		{"en", "how are you?", `Very well`, ""},
		{"en", "bye", `Goodbye`, ""},
		{"es", "adiós", `¡Hasta luego!`, ""},
		{"en", "yes", `Nothing is waiting`, ""},
		{"en", "no", `All right`, ""},
		{"es", "sí", `nada esperando`, ""},
		{"en", "what are your opening hours?", `I don't know about that`, ""},
		{"es", "¿hacen envíos a domicilio?", `De eso no sé`, ""},
		{"en", "7", `7 of what`, ""},
		{"en", "asdf qwer", `I can show you the menu`, ""},
		{"es", "xyz", `Puedo mostrarte la carta`, ""},
		{"en", "🙂", `I can show you the menu`, ""},
		{"en", "I don't want coffee", `All right`, ""},
		{"es", "no quiero café", `De acuerdo`, ""},
		{"en", "donuts?", `“donuts” isn't on our menu`, ""},
		{"en", "what would 2 cakes be?", `2 × Chocolate cake: \$48\.00`, ""},
		{"en", "how many croissants can I order?", `from 1 to 50`, ""},
		{"en", "what's good here?", `Here is our menu`, ""},
		{"en", "do you speak Spanish?", `English and Spanish`, ""},
		{"es", "¿hablas español?", `español e inglés`, ""},
		{"en", "how do I cancel an order?", `cancel my order`, ""},
	} {
		t.Run(tc.lang+"/"+tc.say, func(t *testing.T) {
			t.Parallel()
			c := d.chat(t, tc.lang)
			c.wants(c.say(tc.say, "yes"), tc.want, tc.question)
		})
	}
}

// An order of one product, then one more message.
func TestModel_AfterAnOrder(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	for _, tc := range []struct{ lang, first, say, want, question string }{
		{"en", "2 croissants", "what did I order?", `^Your orders:\n• P-1001: 2 × Croissant\. Total: \$5\.90$`, ""},
		{"en", "2 croissants", "list my orders", `P-1001: 2 × Croissant`, ""},
		{"en", "2 croissants", "show my orders please", `P-1001: 2 × Croissant`, ""},
		{"en", "2 croissants", "what did I just order?", `P-1001: 2 × Croissant`, ""},
		{"en", "2 croissants", "order status", `P-1001: 2 × Croissant`, ""},
		{"es", "2 croissants", "ver pedido", `P-1001: 2 × Croissant`, ""},
		{"es", "2 croissants", "ya no lo quiero", `di «cancela mi pedido»`, ""},
		{"en", "2 croissants", "change 1001 to 2 teas", `P-1001 is now: 2 × Tea`, "Change order\n• Order: P-1001\n• 2 × Tea: $3.90\nTotal: $3.90"},
		{"en", "2 croissants", "my order?", `P-1001: 2 × Croissant`, ""},
		{"en", "2 croissants", "how much is my order?", `Total: \$5\.90`, ""},
		{"en", "2 croissants", "change it to 3", `Order P-1001 is now: 3 × Croissant\. Total: \$8\.85`, "Change order\n• Order: P-1001\n• 3 × Croissant: $8.85\nTotal: $8.85"},
		{"en", "2 croissants", "make it five", `5 × Croissant`, "Change order\n• Order: P-1001\n• 5 × Croissant: $14.75\nTotal: $14.75"},
		{"en", "2 croissants", "change my order to 2 teas", `2 × Tea`, "Change order\n• Order: P-1001\n• 2 × Tea: $3.90\nTotal: $3.90"},
		{"en", "2 croissants", "change order P-1001 to 3 coffees", `3 × Coffee`, "Change order\n• Order: P-1001\n• 3 × Coffee: $6.75\nTotal: $6.75"},
		{"en", "2 croissants", "change it to 2", `nothing to change`, "Change order\n• Order: P-1001\n• 2 × Croissant: $5.90\nTotal: $5.90"},
		{"en", "2 croissants", "add a coffee to my order", `2 × Croissant, 1 × Coffee`, "Change order\n• Order: P-1001\n• 2 × Croissant: $5.90\n• 1 × Coffee: $2.25\nTotal: $8.15"},
		{"en", "2 croissants", "change my order", `Tell me what should be in it`, ""},
		{"en", "2 croissants and a tea", "change it to 3", `Tell me what should be in it`, ""},
		{"en", "2 croissants and a tea", "remove the tea", `Tell me what should be in it`, ""},
		{"en", "2 croissants", "cancel my order", `Order P-1001 \(2 × Croissant\) is cancelled`, "Cancel order\n• Order: P-1001\n• 2 × Croissant: $5.90\nTotal: $5.90"},
		{"en", "2 croissants", "cancel order p-1001", `P-1001 .* is cancelled`, "Cancel order\n• Order: P-1001\n• 2 × Croissant: $5.90\nTotal: $5.90"},
		{"en", "2 croissants", "cancel it please", `is cancelled`, "Cancel order\n• Order: P-1001\n• 2 × Croissant: $5.90\nTotal: $5.90"},
		{"en", "2 croissants", "cancel the croissants", `Tell me what should be in it`, ""},
		{"en", "2 croissants", "2 croissants", `placed that very order already`, ""},
		{"es", "2 croissants", "¿qué pedí?", `^Tus pedidos:\n• P-1001: 2 × Croissant\. Total: 5,90 US\$$`, ""},
		{"es", "un café", "mis pedidos", `P-1001: 1 × Café`, ""},
		{"es", "un café", "cámbialo a 3", `El pedido P-1001 queda así: 3 × Café`, "Change order\n• Pedido: P-1001\n• 3 × Café: 6,75 US$\nTotal: 6,75 US$"},
		{"es", "un café", "mejor que sean dos", `2 × Café`, "Change order\n• Pedido: P-1001\n• 2 × Café: 4,50 US$\nTotal: 4,50 US$"},
		{"es", "un café", "agrega un té", `1 × Café, 1 × Té`, "Change order\n• Pedido: P-1001\n• 1 × Café: 2,25 US$\n• 1 × Té: 1,95 US$\nTotal: 4,20 US$"},
		{"es", "un café", "cancela mi pedido", `El pedido P-1001 \(1 × Café\) está cancelado`, "Cancel order\n• Pedido: P-1001\n• 1 × Café: 2,25 US$\nTotal: 2,25 US$"},
	} {
		t.Run(tc.lang+"/"+tc.say, func(t *testing.T) {
			t.Parallel()
			c := d.chat(t, tc.lang)
			c.say(tc.first, "yes")
			c.wants(c.say(tc.say, "yes"), tc.want, tc.question)
		})
	}
}

// Answers to a question that are neither yes nor no.
func TestModel_B4_Replies(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	for _, tc := range []struct{ lang, say, reply, want, question string }{
		{"en", "2 croissants", "yes but make it 5", `P-1001: 5 × Croissant`, "Place order\n• 5 × Croissant: $14.75\nTotal: $14.75"},
		{"en", "2 croissants", "make it five", `5 × Croissant`, "Place order\n• 5 × Croissant: $14.75\nTotal: $14.75"},
		{"en", "2 croissants", "actually 3 coffees", `: 3 × Coffee\.`, "Place order\n• 3 × Coffee: $6.75\nTotal: $6.75"},
		{"en", "2 croissants", "also a tea", `2 × Croissant, 1 × Tea`, "Place order\n• 2 × Croissant: $5.90\n• 1 × Tea: $1.95\nTotal: $7.85"},
		{"en", "2 croissants", "yes and another croissant", `3 × Croissant`, "Place order\n• 3 × Croissant: $8.85\nTotal: $8.85"},
		{"en", "two coffees", "and a tea", `2 × Coffee, 1 × Tea`, "Place order\n• 2 × Coffee: $4.50\n• 1 × Tea: $1.95\nTotal: $6.45"},
		{"en", "two coffees", "and tea please", `2 × Coffee, 1 × Tea`, "Place order\n• 2 × Coffee: $4.50\n• 1 × Tea: $1.95\nTotal: $6.45"},
		{"en", "two coffees", "And 3 croissants!", `2 × Coffee, 3 × Croissant`, "Place order\n• 2 × Coffee: $4.50\n• 3 × Croissant: $8.85\nTotal: $13.35"},
		{"en", "two coffees", "and make it 3 coffees", `: 3 × Coffee\.`, "Place order\n• 3 × Coffee: $6.75\nTotal: $6.75"},
		{"en", "2 croissants and a tea", "make it 5", `I haven't placed it: 2 × Croissant, 1 × Tea\. Which of them should be 5`, "Place order\n• 2 × Croissant: $5.90\n• 1 × Tea: $1.95\nTotal: $7.85"},
		{"en", "2 croissants", "cancel it instead", `I haven't placed that order`, twoCroissants},
		{"en", "2 croissants", "yes but with a tea", `2 × Croissant, 1 × Tea`, "Place order\n• 2 × Croissant: $5.90\n• 1 × Tea: $1.95\nTotal: $7.85"},
		{"en", "2 croissants and a tea", "yes but 3 croissants", `I haven't placed it: 2 × Croissant, 1 × Tea\. Tell me the whole order`, "Place order\n• 2 × Croissant: $5.90\n• 1 × Tea: $1.95\nTotal: $7.85"},
		{"en", "2 croissants", "how much is it?", `Total: \$5\.90\nI haven't placed your order \(2 × Croissant\) yet`, twoCroissants},
		{"en", "2 croissants", "do you have tea?", `1 × Tea: \$1\.95.*I haven't placed`, twoCroissants},
		{"en", "2 croissants", "what else do you have?", `Baguette.*I haven't placed`, twoCroissants},
		{"en", "2 croissants", "is it gluten free?", `I don't know that, sorry\. I haven't placed`, twoCroissants},
		{"en", "2 croissants", "what did I order?", `haven't ordered anything yet: 2 × Croissant was not placed`, twoCroissants},
		{"en", "2 croissants", "not now", `I haven't placed that order`, twoCroissants},
		{"en", "2 croissants", "hmm", `I haven't placed that order`, twoCroissants},
		{"en", "2 croissants", "yes, go ahead with it", `P-1001: 2 × Croissant`, twoCroissants},
		{"en", "2 croissants", "yes but 99", `from 1 to 50`, twoCroissants},
		{"es", "2 croissants", "sí pero que sean 5", `Tu pedido es el P-1001: 5 × Croissant`, "Place order\n• 5 × Croissant: 14,75 US$\nTotal: 14,75 US$"},
		{"es", "2 croissants", "y también un té", `2 × Croissant, 1 × Té`, "Place order\n• 2 × Croissant: 5,90 US$\n• 1 × Té: 1,95 US$\nTotal: 7,85 US$"},
		{"es", "2 croissants", "y un té", `2 × Croissant, 1 × Té`, "Place order\n• 2 × Croissant: 5,90 US$\n• 1 × Té: 1,95 US$\nTotal: 7,85 US$"},
		{"es", "2 croissants", "¿cuánto es?", `Total: 5,90 US\$\nTodavía no he hecho tu pedido`, "Place order\n• 2 × Croissant: 5,90 US$\nTotal: 5,90 US$"},
		{"es", "2 croissants", "todavía no sé", `no he hecho ese pedido`, "Place order\n• 2 × Croissant: 5,90 US$\nTotal: 5,90 US$"},
	} {
		t.Run(tc.lang+"/"+tc.reply, func(t *testing.T) {
			t.Parallel()
			c := d.chat(t, tc.lang)
			c.wants(c.say(tc.say, tc.reply, "yes"), tc.want, tc.question)
		})
	}
}

func TestModel_B4_RepliesToChangeAndCancel(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	change := func(n, price string) string {
		return "Change order\n• Order: P-1001\n• " + n + ": " + price + "\nTotal: " + price
	}
	cancel := "Cancel order\n• Order: P-1001\n• 2 × Croissant: $5.90\nTotal: $5.90"
	for _, tc := range []struct{ say, reply, want, question string }{
		{"change it to 3", "make it 4", `P-1001 is now: 4 × Croissant`, change("4 × Croissant", "$11.80")},
		{"change it to 3", "no, 2 teas", `P-1001 is now: 2 × Tea`, change("2 × Tea", "$3.90")},
		{"change it to 3", "and a tea", `P-1001 is now: 3 × Croissant, 1 × Tea`, "Change order\n• Order: P-1001\n• 3 × Croissant: $8.85\n• 1 × Tea: $1.95\nTotal: $10.80"},
		{"change it to 3", "how much is that?", `Total: \$8\.85\nI haven't changed order P-1001 yet`, change("3 × Croissant", "$8.85")},
		{"change it to 3", "hmm wait", `P-1001 stays as it was`, change("3 × Croissant", "$8.85")},
		{"change it to 3", "yes do that", `P-1001 is now: 3 × Croissant`, change("3 × Croissant", "$8.85")},
		{"cancel my order", "no, keep it", `P-1001 stays as it is`, cancel},
		{"cancel my order", "yes do it", `P-1001 .* is cancelled`, cancel},
		{"cancel my order", "which one is it?", `P-1001 stays as it is`, cancel},
	} {
		t.Run(tc.say+"/"+tc.reply, func(t *testing.T) {
			t.Parallel()
			c := d.chat(t, "en")
			c.say("2 croissants", "yes")
			c.wants(c.say(tc.say, tc.reply, "yes"), tc.want, tc.question)
		})
	}
}

func TestModel_B4_Denied(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	c := d.chat(t, "en")
	c.wants(c.say("2 croissants", "no"), `^All right, I haven't placed the order\.$`, twoCroissants)
	c.wants(c.say("what did I order?"), `haven't ordered anything`, "")
	c.say("2 croissants", "yes")
	c.wants(c.say("change it to 3", "no"), `haven't changed it: order P-1001`, "Change order\n• Order: P-1001\n• 3 × Croissant: $8.85\nTotal: $8.85")
	c.wants(c.say("cancel my order", "no"), `haven't cancelled it: order P-1001`, "Cancel order\n• Order: P-1001\n• 2 × Croissant: $5.90\nTotal: $5.90")
	es := d.chat(t, "es")
	es.key += "/es"
	es.wants(es.say("un té", "no"), `no he hecho el pedido`, "Place order\n• 1 × Té: 1,95 US$\nTotal: 1,95 US$")
}

func TestModel_FailedResultsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	for _, tc := range []struct{ result, want string }{
		{`{"executed":"unknown","error":"crash"}`, `can't tell whether that went through`},
		{`{"executed":false,"reason":"duplicate","previous":{"outcome":"unknown","secondsAgo":3}}`, `placed that very order already`},
		{`{"executed":false,"reason":"confirmation_unavailable"}`, `Nobody can confirm that here`},
		{`{"executed":false,"reason":"skipped"}`, `that didn't work`},
		{`{"executed":false,"reason":"truncated"}`, `that didn't work`},
		{`{"error":"timeout","message":"…"}`, `that didn't work`},
		{`{"error":"tool_changed"}`, `that didn't work`},
		{`{"error":"unknown_tool"}`, `that didn't work`},
		{`{"error":"repeated_failure"}`, `that didn't work`},
	} {
		t.Run(tc.result, func(t *testing.T) {
			t.Parallel()
			c := d.chat(t, "en")
			c.outcome["place_order"] = tc.result
			c.wants(c.say("2 croissants"), tc.want, "")
		})
	}
}

func TestTools_OrdersAreOfTheChatAndNumbersOfTheBot(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	a := d.chat(t, "en")
	b := d.chat(t, "en")
	b.key, b.store = "web:other", a.store
	a.wants(a.say("2 croissants", "yes"), `P-1001`, twoCroissants)
	b.wants(b.say("what did I order?"), `haven't ordered anything`, "")
	b.wants(b.say("cancel P-1001", "yes"), `no active order P-1001`, "Cancel order\n• Order: P-1001")
	b.wants(b.say("2 coffee", "yes"), `P-1002`, "Place order\n• 2 × Coffee: $4.50\nTotal: $4.50")
	a.wants(a.say("a tea", "yes"), `P-1003`, "Place order\n• 1 × Tea: $1.95\nTotal: $1.95")
	a.wants(a.say("cancel all my orders", "yes"), `one at a time.*P-1001.*P-1003.*cancel P-1003`, "")
	a.wants(a.say("cancel my order", "yes"), `P-1003 .* is cancelled`, "Cancel order\n• Order: P-1003\n• 1 × Tea: $1.95\nTotal: $1.95")
	a.wants(a.say("what did I order?"), `P-1001: 2 × Croissant\. Total: \$5\.90\n• P-1003: 1 × Tea\. Total: \$1\.95 \(cancelled\)`, "")
	a.wants(a.say("cancel P-1003", "yes"), `no active order P-1003`, "Cancel order\n• Order: P-1003")
	a.wants(a.say("make it 4", "yes"), `P-1001 is now: 4 × Croissant`, "Change order\n• Order: P-1001\n• 4 × Croissant: $11.80\nTotal: $11.80")
}
