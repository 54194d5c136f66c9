package script

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
)

// extractor reads a value out of what a person said.
type extractor struct {
	name     string
	turn     bool // reads all of the turn
	forms    forms
	numbers  lexicon
	key      string
	quantity string
	def      string // JSON of a number
	pattern  *pattern
	numeric  bool
}

// forms finds named things: by their first word, longest form first.
type forms map[string][]form

type form struct {
	words []string
	value string
}

func (f forms) add(value string, words []string) {
	if len(words) == 0 {
		return
	}
	list := append(f[words[0]], form{words, value})
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].words) > len(list[j].words) })
	f[words[0]] = list
}

// at returns what is named at tokens[i], and how many words name it.
func (f forms) at(tokens []token, i int) (value string, n int) {
	for _, form := range f[tokens[i].text] {
		if len(form.words) > len(tokens)-i {
			continue
		}
		if slices.EqualFunc(form.words, tokens[i:i+len(form.words)], func(w string, t token) bool { return t.text == w }) {
			return form.value, len(form.words)
		}
	}
	return "", 0
}

// read returns the value as JSON; nil is none.
func (x *extractor) read(text folded) json.RawMessage {
	switch {
	case x.pattern != nil:
		return x.readPattern(text)
	case x.key != "":
		return x.readItems(tokenize(text.text))
	case x.forms != nil:
		tokens := tokenize(text.text)
		for i := range tokens {
			if value, n := x.forms.at(tokens, i); n > 0 {
				return quote(value)
			}
		}
		return nil
	default:
		return x.readAmount(tokenize(text.text))
	}
}

func (x *extractor) readPattern(text folded) json.RawMessage {
	if !x.pattern.possible(text.text) {
		return nil
	}
	at := x.pattern.re.FindStringSubmatchIndex(text.text)
	if at == nil {
		return nil
	}
	group := min(2, len(at)-2)
	if at[group] < 0 {
		return nil
	}
	found := text.span(at[group], at[group+1])
	if !x.numeric {
		return quote(found)
	}
	if tokens := tokenize(found); len(tokens) == 1 && tokens[0].number {
		return json.RawMessage(tokens[0].text)
	}
	return nil
}

func (x *extractor) readAmount(tokens []token) json.RawMessage {
	var last json.RawMessage
	for i := 0; i < len(tokens); {
		number, weak, next := x.number(tokens, i)
		if next == i {
			i++
			continue
		}
		if !weak {
			last = json.RawMessage(number)
		}
		i = next
	}
	return last
}

// number reads a number in digits or words, as JSON.
func (x *extractor) number(tokens []token, i int) (number string, weak bool, next int) {
	if tokens[i].number {
		if n, err := strconv.Atoi(tokens[i].text); err == nil && n < 1000 && x.numbers.at(tokens, i+1).kind == dozen {
			return strconv.Itoa(n * 12), false, i + 2
		}
		return tokens[i].text, false, i + 1
	}
	value, weak, next := x.numbers.read(tokens, i)
	return strconv.Itoa(value), weak, next
}

// unitKind says what a part of the text is to an order.
type unitKind int

const (
	aNumber unitKind = iota
	aThing
	aBreak
)

// part is a number, a thing or a break; other words don't count.
type part struct {
	kind     unitKind
	value    string
	weak     bool
	from, to int // its tokens
}

func (x *extractor) parts(tokens []token) []part {
	var out []part
	for i := 0; i < len(tokens); {
		if value, n := x.forms.at(tokens, i); n > 0 {
			out = append(out, part{aThing, value, false, i, i + n})
			i += n
			continue
		}
		if number, weak, next := x.number(tokens, i); next > i {
			out = append(out, part{aNumber, number, weak, i, next})
			i = next
			continue
		}
		if tokens[i].parts {
			out = append(out, part{kind: aBreak})
		}
		i++
	}
	return out
}

// behind tells that a number stands right behind a thing: "coffee 2", "x2".
func behind(tokens []token, thing, number part) bool {
	return number.from == thing.to || number.from == thing.to+1 && tokens[thing.to].text == "x"
}

// item is a thing and how many of it; "" is not said.
type item struct{ value, quantity string }

// readItems reads "two coffees, a croissant x3 and bread".
func (x *extractor) readItems(tokens []token) json.RawMessage {
	parts := x.parts(tokens)
	// ahead[i]: a thing follows parts[i] before the next break.
	ahead := make([]bool, len(parts)+1)
	for i, p := range slices.Backward(parts) {
		ahead[i] = p.kind == aThing || p.kind == aNumber && ahead[i+1]
	}
	var items []item
	pending, weak, open := "", true, -1 // open: the thing that may get a number behind it
	for i, p := range parts {
		switch p.kind {
		case aBreak:
			pending, weak, open = "", true, -1
		case aThing:
			items = append(items, item{p.value, pending})
			if open = -1; weak {
				open = i
			}
			pending, weak = "", true
		case aNumber:
			switch {
			case !p.weak && open >= 0 && !ahead[i+1] && behind(tokens, parts[open], p):
				items[len(items)-1].quantity = p.value
				open = -1
			case weak || !p.weak:
				pending, weak = p.value, p.weak
			}
		}
	}
	return x.encodeItems(merge(items, x.def))
}

// merge gives the default where no number was said, and adds up what was named
// more than once.
func merge(items []item, def string) []item {
	var out []item
	index := map[string]int{}
	for _, it := range items {
		if it.quantity == "" {
			it.quantity = def
		}
		n, seen := index[it.value]
		if !seen {
			index[it.value] = len(out)
			out = append(out, it)
			continue
		}
		a, errA := strconv.ParseInt(out[n].quantity, 10, 32)
		b, errB := strconv.ParseInt(it.quantity, 10, 32)
		if errA != nil || errB != nil {
			out = append(out, it)
			continue
		}
		out[n].quantity = strconv.FormatInt(a+b, 10)
	}
	return out
}

func (x *extractor) encodeItems(items []item) json.RawMessage {
	if len(items) == 0 {
		return nil
	}
	key, quantity := quote(x.key), quote(x.quantity)
	out := []byte{'['}
	for i, it := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		out = append(append(append(out, key...), ':'), quote(it.value)...)
		if x.quantity != "" {
			out = append(out, ',')
			out = append(append(append(out, quantity...), ':'), it.quantity...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}
