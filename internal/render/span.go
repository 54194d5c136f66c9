package render

import "regexp"

// spans finds what shouldn't be cut: links, addresses, code and emphasis
// within a line. They are byte offsets, in no order, and may overlap.
func spans(text string) (found [][]int) {
	for _, pattern := range []string{
		`\[[^\]\n]*\]\([^)\s]*\)`,
		`(?i)\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.|mailto:)[^\s<>"\p{Han}\p{Hiragana}\p{Katakana}、。，！？）」】]+`,
		"`[^`\n]+`",
		`\*\*[^*\n]+\*\*`, `__[^_\n]+__`, `~~[^~\n]+~~`,
		`\*[^\s*](?:[^*\n]*[^\s*])?\*`, `\b_[^\s_](?:[^_\n]*[^\s_])?_\b`,
	} {
		found = append(found, regexp.MustCompile(pattern).FindAllStringIndex(text, -1)...)
	}
	return found
}
