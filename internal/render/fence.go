package render

import (
	"regexp"
	"strings"
)

// fence is one block of code between fences, by byte offsets of the text. A
// block that isn't closed ends with the text.
type fence struct {
	open    int    // start of the opening line
	content int    // end of the opening line, where its "\n" is
	end     int    // end of the last line of code, where its "\n" is
	close   int    // end of the closing line
	head    string // the opening line
	tail    string // the line that closes it
}

// fences finds the blocks of code of text, in order (CommonMark 4.5).
func fences(text string) (found []fence) {
	opening := regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})([^\n]*)$")
	var in *fence
	for start := 0; start <= len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := text[start:end]
		switch m := opening.FindStringSubmatch(line); {
		case m == nil:
		case in == nil && !(m[2][0] == '`' && strings.Contains(m[3], "`")):
			in = &fence{open: start, content: end, head: line, tail: m[1] + m[2]}
		case in != nil && closes(m, in.tail):
			in.end, in.close = start-1, end
			found = append(found, *in)
			in = nil
		}
		start = end + 1
	}
	if in != nil {
		in.end, in.close = len(text), len(text)
		found = append(found, *in)
	}
	return found
}

// closes tells whether a line, as matched by opening, closes a block that is
// to be closed by tail.
func closes(m []string, tail string) bool {
	return strings.HasPrefix(m[2], strings.TrimLeft(tail, " \t")) && strings.TrimSpace(m[3]) == ""
}
