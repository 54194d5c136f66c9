package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// piece is one part of a text: the bytes from start to end, between what
// reopens and what closes a block of code.
type piece struct {
	head       string
	start, end int
	tail       string
}

func (p piece) in(text string) string { return p.head + text[p.start:p.end] + p.tail }

// cutter cuts one text. All slices are by byte offset.
type cutter struct {
	text    string
	limit   int
	unit    channels.TextUnit
	lengths []int   // of the text before
	levels  []level // of a cut there
	guarded []bool  // within something that should stay whole
	blocks  []*fence
}

// cut takes a clean text apart into pieces of limit units at the most (0: no
// limit). It cuts at the end of a paragraph, else of a line, a sentence, a
// word, else between characters, and takes the white space there away. It
// doesn't cut in links, addresses and emphasis that fit into one piece. Where
// code is true a block of code is kept whole if it fits, else closed and
// opened again. Only a limit below 4 units may be exceeded, by one character.
func cut(text string, limit int, unit channels.TextUnit, code bool) []piece {
	if limit <= 0 || Length(text, unit) <= limit {
		return []piece{{end: len(text)}}
	}
	c := &cutter{text: text, limit: limit, unit: unit}
	c.measure()
	c.guard()
	if code {
		c.fence()
	}
	c.grade()

	var pieces []piece
	for p := (piece{}); ; {
		budget := limit - Length(p.head, unit)
		if c.length(p.start, len(text)) <= budget {
			p.end = len(text)
			if !blank(p.in(text)) {
				pieces = append(pieces, p)
			}
			return pieces
		}
		p.end = c.best(p.start, budget)
		next := piece{start: c.skip(p.end)}
		if f := c.block(p.end); f != nil {
			p.tail = "\n" + f.tail
			if strings.TrimSpace(text[p.end:f.end]) != "" {
				next.head = f.head + "\n"
			} else {
				next.start = c.skip(f.close)
			}
		}
		if !blank(p.in(text)) {
			pieces = append(pieces, p)
		}
		if next.start >= len(text) {
			return pieces
		}
		p = next
	}
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
func (c *cutter) guard() {
	c.guarded = make([]bool, len(c.text)+1)
	for _, s := range spans(c.text) {
		c.keep(s[0], s[1])
	}
}

func (c *cutter) keep(from, to int) {
	if c.length(from, to) > c.limit {
		return
	}
	for i := from + 1; i < to; i++ {
		c.guarded[i] = true
	}
}

// fence fills in blocks. One whose fences would fill half a piece is taken
// for plain text.
func (c *cutter) fence() {
	c.blocks = make([]*fence, len(c.text)+1)
	for _, f := range fences(c.text) {
		if Length(f.head, c.unit)+Length(f.tail, c.unit)+2 > c.limit/2 {
			continue
		}
		c.keep(f.open, f.close)
		for i := f.open + 1; i < f.close; i++ {
			c.blocks[i] = &f
		}
		if f.close == len(c.text) && f.end == f.close {
			c.blocks[f.close] = &f
		}
	}
}

// block is the block of code that offset i is within, or nil.
func (c *cutter) block(i int) *fence {
	if c.blocks == nil {
		return nil
	}
	return c.blocks[i]
}

// best finds where the piece that begins at start ends.
func (c *cutter) best(start, budget int) int {
	farthest := start
	for farthest < len(c.text) && c.length(start, farthest+1) <= budget {
		farthest++
	}
	seen := strings.IndexFunc(c.text[start:farthest], visible)
	if seen < 0 {
		return c.anywhere(start, farthest, budget)
	}
	var found [paragraph + 1]int // the farthest of each level
	last, forced := 0, 0
	for p := farthest; p > start+seen; p-- {
		l := c.levels[p]
		if l == nowhere || !c.closable(start, p, budget) {
			continue
		}
		if c.guarded[p] {
			forced = max(forced, p)
			continue
		}
		last = max(last, p)
		if found[l] == 0 {
			found[l] = p
		}
	}
	for l := paragraph; l > grapheme; l-- {
		// A better place that would leave most of the message empty isn't.
		if p := found[l]; p != 0 && c.length(start, p) >= budget/4 {
			return p
		}
	}
	early := slices.Max(found[word:])
	switch {
	case early != 0 && c.fits(c.skip(early)):
		return early
	case last != 0:
		return last
	case forced != 0:
		return forced
	}
	return c.anywhere(start, farthest, budget)
}

// fits tells whether the word that begins at start fits into one piece.
func (c *cutter) fits(start int) bool {
	end := len(c.text)
	if i := strings.IndexFunc(c.text[start:], breakable); i > 0 {
		end = start + i
	}
	return c.length(start, end) <= c.limit
}

// closable tells whether a piece may end at p as far as blocks of code go:
// outside of them, or after some code with room to close the block.
func (c *cutter) closable(start, p, budget int) bool {
	f := c.block(p)
	if f == nil {
		return true
	}
	return p > f.content && p < f.end &&
		c.length(start, p)+Length(f.tail, c.unit)+1 <= budget &&
		strings.TrimSpace(c.text[max(start, f.content):p]) != ""
}

// anywhere cuts what has no place to cut: an endless character, or white space
// that fills a block of code.
func (c *cutter) anywhere(start, farthest, budget int) int {
	fallback := 0
	for p := farthest; p > start; p-- {
		if !utf8.RuneStart(c.at(p)) {
			continue
		}
		fallback = max(fallback, p)
		f := c.block(p)
		if f == nil || p > f.content && p < f.end && c.length(start, p)+Length(f.tail, c.unit)+1 <= budget {
			return p
		}
	}
	if fallback != 0 {
		return fallback
	}
	_, size := utf8.DecodeRuneInString(c.text[start:])
	return start + size
}

func (c *cutter) at(i int) byte {
	if i == len(c.text) {
		return 0
	}
	return c.text[i]
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
