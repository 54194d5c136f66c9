package bakery

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever is typed, at whatever point, is answered: no rule lacks a value, none
// runs in circles, and no amount is said that no tool has computed.
func TestModel_AnswersWhateverIsSaid(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	words := strings.Fields(`yes no but ok si pero 2 3 51 0 five dos a an una coffee cafés croissant croissants te cake pan bread pizza
		roll change cambia make it to que sean cancel cancela my mi order pedido orders pedidos what qué did pedí i how much cuánto
		? ! , and y also agrega add with sin remove all todos P-1001 p-1002 1001 have tienen menu carta want quiero don't thanks hola
		who are you help instead mejor total 🙂 ñ {result.id} {{ " \ ( [ * $1 <b> -1 1.5 999999999999999999999`)
	r := rand.New(rand.NewPCG(1, 2))
	sentence := func() string {
		s := make([]string, 1+r.IntN(6))
		for i := range s {
			s[i] = words[r.IntN(len(words))]
		}
		return strings.Join(s, " ")
	}
	for range 30 {
		c := d.chat(t, []string{"en", "es"}[r.IntN(2)])
		for range 6 {
			text, reply := sentence(), []string{"yes", "no", sentence()}[r.IntN(3)]
			got := c.say(text, reply, []string{"yes", "no"}[r.IntN(2)])
			if strings.TrimSpace(got.text) == "" || strings.ContainsAny(got.text, "{}") && !strings.ContainsAny(text+reply, "{}") {
				t.Errorf("%q, then %q: answer %q", text, reply, got.text)
			}
			if strings.Contains(got.text, "$") && len(got.tools) == 0 && !strings.Contains(text, "$") {
				t.Errorf("%q: an amount from nowhere: %q", text, got.text)
			}
		}
	}
}
