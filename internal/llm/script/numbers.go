package script

// numberWord is a word that is a number or a part of one.
type numberWord struct {
	kind  numberKind
	value int
}

type numberKind int

const (
	article  numberKind = iota + 1 // a, un: one, if nothing better comes
	unit                           // takes nothing behind it
	ten                            // may take a unit: twenty five
	hundred                        // times what is before it: two hundred
	hundreds                       // may take what is below 100: doscientos tres
	dozen                          // times what is before it
	couple
	half // of a dozen
)

// lexicon holds the number words of languages, by their folded form.
type lexicon map[string]numberWord

// words adds a run of words that count up from first by step.
func (l lexicon) words(kind numberKind, first, step int, words ...string) {
	for i, w := range words {
		l[w] = numberWord{kind, first + i*step}
	}
}

// add takes in a language; false is one that isn't known.
func (l lexicon) add(lang string) bool {
	switch lang {
	case "en":
		l.words(article, 1, 0, "a", "an")
		l.words(unit, 0, 1, "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
			"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
		l.words(ten, 20, 10, "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
		l.words(hundred, 100, 0, "hundred")
		l.words(dozen, 12, 0, "dozen", "dozens")
		l.words(couple, 2, 0, "couple", "pair")
		l.words(half, 0, 0, "half")
	case "es":
		l.words(article, 1, 0, "un", "una")
		l.words(unit, 0, 1, "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
			"trece", "catorce", "quince", "dieciseis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno", "veintidos",
			"veintitres", "veinticuatro", "veinticinco", "veintiseis", "veintisiete", "veintiocho", "veintinueve")
		l.words(unit, 21, 0, "veintiun", "veintiuna")
		l.words(ten, 20, 0, "veinte")
		l.words(ten, 30, 10, "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa")
		l.words(hundreds, 100, 0, "cien", "ciento")
		l.words(hundreds, 200, 100, "doscientos", "trescientos", "cuatrocientos", "quinientos", "seiscientos", "setecientos", "ochocientos", "novecientos")
		l.words(hundreds, 200, 100, "doscientas", "trescientas", "cuatrocientas", "quinientas", "seiscientas", "setecientas", "ochocientas", "novecientas")
		l.words(dozen, 12, 0, "docena", "docenas")
		l.words(couple, 2, 0, "par")
		l.words(half, 0, 0, "media", "medio")
	default:
		return false
	}
	return true
}

func (l lexicon) at(tokens []token, i int) numberWord {
	if i >= len(tokens) {
		return numberWord{}
	}
	return l[tokens[i].text]
}

// read takes the number that begins at tokens[i] in words, and returns where
// it ends; next == i is none. weak is an article alone.
func (l lexicon) read(tokens []token, i int) (value int, weak bool, next int) {
	first := l.at(tokens, i)
	switch first.kind {
	case half:
		next = i + 1
		if l.at(tokens, next).kind == article {
			next++
		}
		if l.at(tokens, next).kind == dozen {
			return 6, false, next + 1
		}
		return 0, false, i
	case article, unit, couple:
		switch follow := l.at(tokens, i+1); {
		case follow.kind == dozen:
			return first.value * 12, false, i + 2
		case follow.kind == hundred && first.value < 10:
			return l.below100(tokens, first.value*100, i+2)
		case first.kind == article && (follow.kind == couple || follow.kind == half):
			return l.read(tokens, i+1)
		case first.kind == article && follow.kind != 0:
			return 0, false, i // "a two": the article says nothing
		}
		return first.value, first.kind == article, i + 1
	case ten:
		return l.below100(tokens, 0, i)
	case hundred, hundreds:
		return l.below100(tokens, first.value, i+1)
	case dozen:
		return 12, false, i + 1
	default:
		return 0, false, i
	}
}

// below100 adds tens and a unit, if they follow, to sum.
func (l lexicon) below100(tokens []token, sum, i int) (value int, weak bool, next int) {
	j := i
	if sum > 0 && tokenIs(tokens, j, "and") {
		j++
	}
	switch word := l.at(tokens, j); word.kind {
	case ten:
		sum += word.value
		j++
		k := j
		if tokenIs(tokens, k, "y") {
			k++
		}
		if u := l.at(tokens, k); (u.kind == unit || k > j && u.kind == article) && u.value > 0 && u.value < 10 {
			return sum + u.value, false, k + 1
		}
		return sum, false, j
	case unit:
		if sum > 0 {
			return sum + word.value, false, j + 1
		}
	default:
	}
	return sum, false, i
}

func tokenIs(tokens []token, i int, text string) bool {
	return i < len(tokens) && tokens[i].text == text
}
