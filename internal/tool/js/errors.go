package js

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

// Error is what is wrong with a script, and where.
type Error struct {
	File    string // as the script was named, or relative to that
	Line    int    // from 1; 0 where it isn't known
	Column  int    // from 1, in characters
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Told is the error as a model may see it: where the files are is none of its
// business.
func (e *Error) Told() string { return e.Message }

// bundleErrors translates esbuild's messages, all of them.
func bundleErrors(src Source, messages []api.Message) error {
	var errs []error
	for _, m := range messages {
		e := &Error{File: src.path, Message: m.Text}
		if l := m.Location; l != nil {
			e.File, e.Line = src.display(strings.TrimPrefix(l.File, "embed:")), l.Line
			e.Column = 1 + len([]rune(l.LineText[:min(l.Column, len(l.LineText))]))
		}
		for _, n := range m.Notes {
			if n.Location == nil && n.Text != "" {
				e.Message += " (" + firstSentence(n.Text) + ")"
			}
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, ". ")
	return strings.TrimSuffix(strings.ReplaceAll(s, "\n", " "), ".")
}

// display names a file, given relative to the script's folder, as the user
// would.
func (s Source) display(rel string) string {
	if filepath.IsAbs(rel) {
		return rel
	}
	if !s.onDisk() {
		return path.Clean(rel)
	}
	return filepath.Join(s.dir(), filepath.FromSlash(rel))
}

// frames matches the frames of the engine's stack traces.
const frames = `\(?<eval>:(\d+):(\d+)\)?`

// place is the first frame of a stack that is in the user's own files.
func (p *program) place(stack string) (file string, line, column int, ok bool) {
	for _, m := range regexp.MustCompile(frames).FindAllStringSubmatch(stack, -1) {
		l, _ := strconv.Atoi(m[1]) // digits by the pattern
		c, _ := strconv.Atoi(m[2])
		if file, line, column, ok := p.Map.lookup(l, c); ok {
			return file, line, column, true
		}
	}
	return "", 0, 0, false
}

// scriptError places an exception of the engine in the user's files.
func (p *program) scriptError(src Source, doing string, err error) error {
	e := &Error{File: src.path, Message: doing + ": " + err.Error()}
	qe, ok := errors.AsType[*quickjs.Error](err)
	if !ok {
		return e
	}
	e.Message = fmt.Sprintf("%s: %s", doing, strings.TrimPrefix(qe.Name+": ", ": ")+qe.Message)
	stack := qe.Stack
	if qe.LineNumber > 0 {
		stack = fmt.Sprintf("<eval>:%d:%d\n", qe.LineNumber, qe.ColumnNumber)
	}
	if file, line, column, ok := p.place(stack); ok {
		e.File, e.Line, e.Column = src.display(file), line, column
	}
	return e
}
