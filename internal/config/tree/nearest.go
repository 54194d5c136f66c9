package tree

import (
	"slices"
	"strings"
)

// nearest is the candidate that word was most likely meant to be, or "".
func nearest(word string, candidates []string) string {
	const longest = 64 // no key is longer; keeps a hostile key cheap
	if len(word) > longest {
		return ""
	}
	lower := strings.ToLower(word)
	best, bestAt := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		at := distance(lower, strings.ToLower(c))
		if strings.ReplaceAll(lower, "-", "_") == strings.ToLower(c) || strings.ReplaceAll(c, "_", "") == lower {
			at = 0
		}
		// A word of which nothing is left says nothing.
		if at < bestAt && at < len(c) && at < len(word) {
			best, bestAt = c, at
		}
	}
	return best
}

// distance counts the insertions, deletions, changes and swaps of neighbours
// between a and b (optimal string alignment).
func distance(a, b string) int {
	prev2, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// DidYouMean is the remedy for an unknown word: the nearest, and all that are
// allowed where these are few enough to read.
func DidYouMean(word string, allowed []string) string {
	var b strings.Builder
	if n := nearest(word, allowed); n != "" {
		b.WriteString("; did you mean \"" + n + "\"?")
	}
	if len(allowed) > 0 {
		sorted := slices.Sorted(slices.Values(allowed))
		b.WriteString(" (allowed: " + strings.Join(sorted, ", ") + ")")
	}
	return b.String()
}
