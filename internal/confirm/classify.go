package confirm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Class is what a typed text says to a yes/no question.
type Class string

// The classes. Other is everything that isn't plainly one of the two.
const (
	Yes   Class = "yes"
	No    Class = "no"
	Other Class = "other"
)

// maxAnswer is the longest text, in bytes, that can be a plain yes or no. It
// keeps long texts cheap; nobody writes a yes that long.
const maxAnswer = 1000

// Words knows which words are a yes and which are a no.
type Words struct {
	phrases map[string]meaning // folded tokens joined by spaces
	longest int                // tokens of the longest phrase
}

// meaning is a set: a courtesy says nothing.
type meaning uint8

const (
	polite meaning = 0
	yes    meaning = 1 << 0
	no     meaning = 1 << 1
)

// NewWords builds the word lists. An empty yes or no is the default list,
// others replace it; yesAdd and noAdd extend either. Entries may be several
// words, and may be emoji. A word that is both a yes and a no, and an entry
// that could never be an answer, are errors that name it.
func NewWords(yesWords, noWords, yesAdd, noAdd []string) (*Words, error) {
	if len(yesWords) == 0 {
		yesWords = DefaultYes()
	}
	if len(noWords) == 0 {
		noWords = DefaultNo()
	}
	w := &Words{phrases: make(map[string]meaning)}
	for _, c := range courtesy() {
		if err := w.add(c, polite); err != nil {
			return nil, err
		}
	}
	for _, list := range []struct {
		name  string
		words []string
		means meaning
	}{
		{"confirm.yes", yesWords, yes}, {"confirm.yes_add", yesAdd, yes},
		{"confirm.no", noWords, no}, {"confirm.no_add", noAdd, no},
	} {
		for _, word := range list.words {
			if err := w.add(word, list.means); err != nil {
				return nil, fmt.Errorf("%s: %q %w", list.name, word, err)
			}
		}
	}
	return w, nil
}

func (w *Words) add(word string, means meaning) error {
	tokens, question := tokenize(word)
	switch {
	case question:
		return errors.New("has a question mark: a question is never an answer")
	case len(tokens) == 0:
		return errors.New("has no words")
	case len(word) > maxAnswer:
		return errors.New("is too long for an answer")
	}
	phrase := joinTokens(tokens)
	if had := w.phrases[phrase]; had != polite && had != means {
		return errors.New("is both a yes and a no")
	}
	w.phrases[phrase] = means
	w.longest = max(w.longest, len(tokens))
	return nil
}

// Classify tells whether text is a plain yes, a plain no, or anything else
// (behaviour B3). Case, accents, punctuation, emoji and courtesy around the
// answer don't matter; a question mark, any other word, or a yes beside a no
// makes it Other.
func (w *Words) Classify(text string) Class {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxAnswer {
		return Other
	}
	tokens, question := tokenize(text)
	if question {
		return Other
	}
	// reached[i] is what the first i tokens can be read as: a set of
	// meanings without any that mix yes and no, as bits 1<<meaning.
	reached := make([]uint8, len(tokens)+1)
	reached[0] = 1 << polite
	for i := range tokens {
		if reached[i] == 0 {
			continue
		}
		if tokens[i].symbol {
			reached[i+1] |= combine(reached[i], polite)
		}
		for n := 1; n <= w.longest && i+n <= len(tokens); n++ {
			if means, ok := w.phrases[joinTokens(tokens[i:i+n])]; ok {
				reached[i+n] |= combine(reached[i], means)
			}
		}
	}
	canYes, canNo := reached[len(tokens)]&(1<<yes) != 0, reached[len(tokens)]&(1<<no) != 0
	switch {
	case canYes == canNo:
		return Other
	case canYes && !w.spoilt(tokens, yes, refusing):
		return Yes
	case canNo && !w.spoilt(tokens, no, approving):
		return No
	default:
		return Other
	}
}

// combine adds one more phrase to each reading, and drops those that would
// then be a yes and a no.
func combine(readings uint8, means meaning) (out uint8) {
	for _, had := range []meaning{polite, yes, no} {
		if sum := had | means; readings&(1<<had) != 0 && sum != yes|no {
			out |= 1 << sum
		}
	}
	return out
}

// spoilt tells whether a symbol speaks against the words: by the lists, else
// by what everybody takes it for.
func (w *Words) spoilt(tokens []token, means meaning, against func(rune) bool) bool {
	return slices.ContainsFunc(tokens, func(t token) bool {
		if !t.symbol || w.phrases[t.text] == means {
			return false
		}
		r, _ := utf8.DecodeRuneInString(t.text)
		return against(r) || w.phrases[t.text] != polite
	})
}
