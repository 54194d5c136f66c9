package ledger

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/internal/locale"
)

// Bounds of the done note: it is in every prompt.
const (
	maxActions = 20
	maxLines   = 20  // of one action
	maxLine    = 200 // runes
	maxNote    = 4000
)

// DoneNote is the part of the system prompt about what was done before
// (behaviour C2), newest first: title, name, age and argument lines of each
// run that is still remembered, never its result; one of unknown outcome is
// called uncertain. It is "" where there is nothing to tell. The oldest runs
// are left out, and counted, past 20 or 4,000 characters.
func DoneNote(runs []Run, now time.Time, catalog *locale.Catalog, lang string) string {
	kept := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !r.kept(now) })
	if len(kept) == 0 {
		return ""
	}
	slices.Reverse(kept) // of two that ended at once the later entry is newer
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].EndedAt.After(kept[j].EndedAt) })

	var b strings.Builder
	size := 0
	for i, r := range kept {
		text := action(r, now, catalog, lang)
		size += utf8.RuneCountInString(text) + 1
		if i == maxActions || i > 0 && size > maxNote {
			left := locale.Arg{Name: "n", Value: strconv.Itoa(len(kept) - i)}
			b.WriteString("\n- " + catalog.Text(lang, locale.DoneMore, left))
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return catalog.Text(lang, locale.DoneNote, locale.Arg{Name: "actions", Value: b.String()})
}

// action is one run: "- Place order (place_order), 2 minutes ago" and below it
// the lines of its arguments.
func action(r Run, now time.Time, catalog *locale.Catalog, lang string) string {
	var b strings.Builder
	b.WriteString("- ")
	if title := oneLine(r.Title); title != "" && title != r.Tool {
		b.WriteString(title + " (" + oneLine(r.Tool) + ")")
	} else {
		b.WriteString(oneLine(r.Tool))
	}
	b.WriteString(", " + catalog.Age(lang, r.Age(now)))
	if r.Unknown {
		b.WriteString(" – " + catalog.Text(lang, locale.DoneUnknown))
	}
	for i, line := range r.Lines {
		if i == maxLines {
			b.WriteString("\n  …")
			break
		}
		b.WriteString("\n  " + oneLine(line))
	}
	return b.String()
}

// oneLine keeps a line from looking like several, and bounds it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if utf8.RuneCountInString(text) <= maxLine {
		return text
	}
	return string([]rune(text)[:maxLine-1]) + "…"
}
