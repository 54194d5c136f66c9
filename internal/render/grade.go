package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// level is how good a place to cut is.
type level uint8

const (
	nowhere level = iota
	grapheme
	word
	sentence
	line
	paragraph
)

// grade fills in levels.
func (c *cutter) grade() {
	c.levels = make([]level, len(c.text)+1)
	offset, state, rest := 0, -1, c.text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		offset += len(cluster)
		c.levels[offset] = grapheme
	}
	start := -1 // of the white space at i
	for i, r := range c.text {
		if breakable(r) {
			if start < 0 {
				start = i
			} else {
				c.levels[i] = nowhere
			}
			continue
		}
		if start >= 0 {
			if start > 0 && c.levels[i] != nowhere && c.levels[start] != nowhere {
				c.levels[start] = gradeSpace(c.text[:start], c.text[start:i])
			} else {
				c.levels[start] = nowhere
			}
			c.levels[i] = nowhere
			start = -1
		} else if c.levels[i] != nowhere {
			c.levels[i] = gradeBetween(c.text[:i], r)
		}
	}
}

// breakable tells the white space that a text may be cut at.
func breakable(r rune) bool {
	return unicode.IsSpace(r) && r != '\u00a0' && r != '\u2007' && r != '\u202f'
}

// gradeSpace grades a cut at white space.
func gradeSpace(before, space string) level {
	switch strings.Count(space, "\n") {
	case 0:
	case 1:
		return line
	default:
		return paragraph
	}
	before = strings.TrimRight(before, `"'”’»)]*_`)
	if last, _ := utf8.DecodeLastRuneInString(before); strings.ContainsRune(".!?…。！？؟।", last) {
		return sentence
	}
	return word
}

// gradeBetween grades a cut before next where there is no white space.
func gradeBetween(before string, next rune) level {
	last, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case unicode.IsPunct(next):
		return grapheme
	case strings.ContainsRune("。！？", last):
		return sentence
	case strings.ContainsRune("，、；：", last):
		return word
	default:
		return grapheme
	}
}
