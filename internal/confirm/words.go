package confirm

// DefaultYes lists the answers that mean yes (behaviour B3).
func DefaultYes() []string {
	return []string{
		"si", "s", "yes", "y", "ok", "okay", "confirmo", "confirmar", "dale", "claro", "de acuerdo", "acepto", "1",
		"vale", "listo", "perfecto", "adelante", "hazlo", "correcto", "esta bien", "sure", "yeah", "yep",
	}
}

// DefaultNo lists the answers that mean no (behaviour B3).
func DefaultNo() []string {
	return []string{
		"no", "n", "nop", "nope", "nel", "cancelar", "cancela", "cancelo", "cancel", "negativo", "mejor no",
		"para nada", "tampoco", "no gracias", "2", "0",
	}
}

// courtesy lists what may stand around an answer without changing it.
func courtesy() []string {
	return []string{
		"please", "pls", "plz", "thanks", "thx", "thank you", "thanks a lot", "many thanks", "thank you very much",
		"thank you so much", "por favor", "porfavor", "porfa", "porfis", "gracias", "muchas gracias", "mil gracias",
	}
}

// refusing and approving are the symbols that speak against an answer in
// words: "yes 👎" is neither.
func refusing(r rune) bool {
	switch r {
	case '👎', '❌', '✖', '✗', '✘', '🚫', '⛔', '🛑', '🙅':
		return true
	}
	return false
}

func approving(r rune) bool {
	switch r {
	case '👍', '✅', '✔', '✓', '☑', '👌', '🆗':
		return true
	}
	return false
}

// asking tells the marks that make a text a question; compatibility forms are
// folded before.
func asking(r rune) bool {
	switch r {
	case '?', '¿', '؟', '⸮', '‽', '❓', '❔':
		return true
	}
	return false
}
