package confirm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/parley-bot/parley/internal/locale"
)

// maxSummary bounds a summary, in grapheme clusters.
const maxSummary = 200

// Summarize says in a few words what a run gave, for the notice that it was
// done before (behaviour C1): "Id: P-1, Total: 9000". What is too nested to
// read is left out, the rest is cut at 200 characters; no value, and one of
// which nothing is left, is "ok".
func Summarize(result json.RawMessage, labels Labels, catalog *locale.Catalog, lang string) string {
	v, err := parse(result, false)
	if err != nil {
		return "ok"
	}
	r := reader{labels, catalog, lang}
	text := ""
	switch {
	case v.kind == kindNull:
	case v.kind == kindObject:
		var pairs []string
		for _, f := range present(v.fields) {
			if shallow(f.value, 1) {
				pairs = append(pairs, r.pair(f))
			}
		}
		text = strings.Join(pairs, ", ")
	case shallow(v, 1):
		text = r.inline("", v)
	}
	if text = oneLine(text); text == "" {
		return "ok"
	}
	return shorten(text, maxSummary)
}

// shallow tells whether v reads in a few words: scalars, and lists and objects
// of nothing but scalars, levels deep at the most.
func shallow(v value, levels int) bool {
	if v.scalar() {
		return true
	}
	if levels == 0 {
		return false
	}
	for _, item := range v.items {
		if !shallow(item, levels-1) {
			return false
		}
	}
	for _, f := range v.fields {
		if !shallow(f.value, levels-1) {
			return false
		}
	}
	return true
}

// shorten cuts text between what a reader sees as characters. Such a
// character may itself be endless, so runes are counted too.
func shorten(text string, most int) string {
	rest, state, runes := text, -1, 0
	end := 0 // of the last character with room for the ellipsis after it
	for n := 1; rest != ""; n++ {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		runes += utf8.RuneCountInString(cluster)
		if n > most || runes > 4*most {
			return strings.TrimRight(text[:end], " ") + "…"
		}
		if n < most {
			end = len(text) - len(rest)
		}
	}
	return text
}
