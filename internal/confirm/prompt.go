package confirm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parley-bot/parley/internal/locale"
)

// ErrBlank says that a tool's own question has no text: nobody is asked with
// it (behaviour B10).
var ErrBlank = errors.New("the question is blank")

// Prompt is what a question to a person is made of.
type Prompt struct {
	Tool  string // the tool's name, for where it has no title
	Title string // shown to people; "" is the humanized name
	// Args are the validated arguments, in the order of their JSON.
	Args   json.RawMessage
	Labels Labels
	// Lines replace the lines of the arguments, where not nil; an empty list
	// shows none.
	Lines []string
	// Message, where not "", replaces all but the notice of Previous. A tool
	// whose own message came out empty is for the caller to refuse.
	Message string
	// Previous is set where the same call ran before (behaviour C1).
	Previous *Previous
	// Buttons leaves out the hint about what to type.
	Buttons bool
	Lang    string
	Catalog *locale.Catalog
}

// Previous is a run of the same tool with the same arguments.
type Previous struct {
	Summary string // what it gave, by [Summarize]
	Unknown bool   // it may or may not have taken effect
}

// Text writes the question (behaviour B9, B10, C1): literal text, "\n" between
// lines, complete. An error means that nobody is to be asked: ErrTooLong for a
// value over 1,000 characters, nesting over 32 levels or a question over
// 16,384; ErrBlank; or arguments that can't be read without doubt.
func (p Prompt) Text() (string, error) {
	text, err := p.body()
	if err != nil {
		return "", fmt.Errorf("write question for %s: %w", p.Tool, err)
	}
	if notice := p.notice(); notice != "" {
		text = notice + "\n" + text
	}
	if n := utf8.RuneCountInString(text); n > maxPrompt {
		return "", fmt.Errorf("write question for %s: %d characters: %w", p.Tool, n, ErrTooLong)
	}
	return text, nil
}

func (p Prompt) body() (string, error) {
	if p.Message != "" {
		text := manyLines(p.Message)
		if text == "" {
			return "", ErrBlank
		}
		return text, nil
	}
	lines, err := p.lines()
	if err != nil {
		return "", err
	}
	var args strings.Builder
	for _, line := range lines {
		args.WriteByte('\n')
		args.WriteString(line)
	}
	key := locale.Confirm
	if p.Buttons {
		key = locale.ConfirmButtons
	}
	return p.Catalog.Text(p.Lang, key,
		locale.Arg{Name: "tool", Value: displayName(p.Tool, p.Title)}, locale.Arg{Name: "args", Value: args.String()}), nil
}

func (p Prompt) lines() ([]string, error) {
	if p.Lines == nil {
		return ArgLines(p.Args, p.Labels, p.Catalog, p.Lang)
	}
	lines := make([]string, len(p.Lines))
	for i, line := range p.Lines {
		lines[i] = oneLine(line)
	}
	return lines, nil
}

func (p Prompt) notice() string {
	if p.Previous == nil {
		return ""
	}
	tool := locale.Arg{Name: "tool", Value: displayName(p.Tool, p.Title)}
	if p.Previous.Unknown {
		return p.Catalog.Text(p.Lang, locale.ConfirmRepeatUnknown, tool)
	}
	summary := oneLine(p.Previous.Summary)
	if summary == "" {
		summary = "ok"
	}
	return p.Catalog.Text(p.Lang, locale.ConfirmRepeat, tool, locale.Arg{Name: "result", Value: shorten(summary, maxSummary)})
}

// displayName is what people are shown of a tool.
func displayName(name, title string) string {
	if title = oneLine(title); title != "" {
		return title
	}
	return HumanName(name)
}

// Digest fixes what a person approves (behaviour B28): the tool's definition,
// the validated arguments and the question. It is a SHA-256 in hex. White
// space between the arguments' JSON tokens doesn't matter. question should be
// the text without a notice of an earlier run, which fades by itself.
func Digest(toolDigest string, args json.RawMessage, question string) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, args); err != nil {
		compact.Reset()
		compact.Write(args)
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(toolDigest), compact.Bytes(), []byte(question)} {
		// The length before each keeps two different triples apart.
		_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
