package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// cutter finds where to cut one sheet. All slices are by byte offset of its
// text.
type cutter struct {
	text    string
	limit   int
	unit    channels.TextUnit
	lengths []int   // of the text before
	levels  []level // of a cut there
	guarded []bool  // within something that should stay whole
}

// newCutter prepares to cut the sheet into pieces of limit units.
func newCutter(s *sheet, limit int, unit channels.TextUnit) *cutter {
	c := &cutter{text: s.text, limit: limit, unit: unit}
	c.measure()
	c.guard(s)
	c.grade()
	for _, at := range s.held {
		if at < len(c.levels) {
			c.levels[at] = min(c.levels[at], word)
		}
	}
	return c
}

// end finds where the piece that begins at start ends, with budget units at
// the most: at the end of a paragraph, else of a line, a sentence, a word,
// else between characters. Links, addresses, styled text and blocks of code
// that fit into a piece stay whole. Only a budget below 4 units may be
// exceeded, by one character.
func (c *cutter) end(start, budget int) int {
	if c.length(start, len(c.text)) <= budget {
		return len(c.text)
	}
	return c.best(start, budget)
}

func (c *cutter) length(from, to int) int { return c.lengths[to] - c.lengths[from] }

// measure fills in lengths. Offsets within a character have the length after
// it.
func (c *cutter) measure() {
	c.lengths = make([]int, len(c.text)+1)
	n := 0
	for i, r := range c.text {
		n += runeLength(r, c.unit)
		for j := range utf8.RuneLen(r) {
			c.lengths[i+1+j] = n
		}
	}
}

// guard marks what should stay whole and can.
func (c *cutter) guard(s *sheet) {
	c.guarded = make([]bool, len(c.text)+1)
	for _, w := range s.whole {
		c.keep(w[0], min(w[1], len(c.text)))
	}
	for _, a := range s.addresses() {
		c.keep(a[0], a[1])
	}
}

func (c *cutter) keep(from, to int) {
	if from >= to || c.length(from, to) > c.limit {
		return
	}
	for i := from + 1; i < to; i++ {
		c.guarded[i] = true
	}
}

// best finds where the piece that begins at start ends.
func (c *cutter) best(start, budget int) int {
	farthest := start
	for farthest < len(c.text) && c.length(start, farthest+1) <= budget {
		farthest++
	}
	seen := strings.IndexFunc(c.text[start:farthest], visible)
	if seen < 0 {
		return c.anywhere(start, farthest)
	}
	// The farthest of each level, outside of what should stay whole and in it.
	var found, forced [paragraph + 1]int
	for p := farthest; p > start+seen; p-- {
		switch l := c.levels[p]; {
		case l == nowhere:
		case c.guarded[p]:
			forced[l] = max(forced[l], p)
		default:
			found[l] = max(found[l], p)
		}
	}
	if p := c.good(&found, start, budget/4); p != 0 {
		return p
	}
	early, last := slices.Max(found[word:]), slices.Max(found[:])
	switch {
	case early != 0 && c.fits(c.skip(early)):
		return early
	case last != 0:
		return last
	}
	if p := c.good(&forced, start, budget/4); p != 0 {
		return p
	}
	if p := slices.Max(forced[:]); p != 0 {
		return p
	}
	return c.anywhere(start, farthest)
}

// good is the best of the places found. One that would leave most of the
// message empty isn't.
func (c *cutter) good(found *[paragraph + 1]int, start, least int) int {
	for l := paragraph; l > grapheme; l-- {
		if p := found[l]; p != 0 && c.length(start, p) >= least {
			return p
		}
	}
	return 0
}

// fits tells whether the word that begins at start fits into one piece.
func (c *cutter) fits(start int) bool {
	end := len(c.text)
	if i := strings.IndexFunc(c.text[start:], breakable); i > 0 {
		end = start + i
	}
	return c.length(start, end) <= c.limit
}

// anywhere cuts what has no place to cut: an endless character, or white
// space.
func (c *cutter) anywhere(start, farthest int) int {
	for p := farthest; p > start; p-- {
		if p == len(c.text) || utf8.RuneStart(c.text[p]) {
			return p
		}
	}
	_, size := utf8.DecodeRuneInString(c.text[start:])
	return start + size
}

// skip leaves out the white space after a cut, but not the indentation of the
// line that follows, unless that is endless.
func (c *cutter) skip(p int) int {
	end := p
	for i, r := range c.text[p:] {
		if !breakable(r) {
			break
		}
		end = p + i + utf8.RuneLen(r)
	}
	i := strings.LastIndexByte(c.text[p:end], '\n')
	if i < 0 || c.length(p+i+1, end) > c.limit/4 {
		return end
	}
	return p + i + 1
}
