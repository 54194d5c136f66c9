package render

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/parley-bot/parley/channels"
)

// Rendered is one message, ready to become a channels.Part.
type Rendered struct {
	Text   string
	Markup channels.Markup
	// Plain is the same without markup, "" where Text has none.
	Plain   string
	Buttons []channels.Button
}

// maxQuestion is how many messages one question may take (behaviour B9).
const maxQuestion = 4

// Errors of Question.
var (
	// ErrTooLong says that a question would take more than four messages.
	ErrTooLong = errors.New("question too long")
	// ErrButtons says that the platform can't show these buttons.
	ErrButtons = errors.New("buttons not possible")
)

// Text renders a model's reply, or any text with Markdown in it, as the
// messages it takes: none where nothing of it would be seen. Each is within
// caps.TextMax, in caps.Unit, and valid on its own: what a cut would leave open
// is closed before it and opened again behind it. A text without Markdown is
// sent as it was written.
//
// caps.TextMax counts what is sent, with its markup; for HTML it counts what
// is seen, as Telegram does, and what is sent stays below Telegram's limits
// for that.
func Text(text string, caps channels.Capabilities) []Rendered {
	text = clean(text)
	if text == "" {
		return nil
	}
	if bare(text) {
		if fits(text, caps.TextMax, caps.Unit) {
			return []Rendered{{Text: text}}
		}
		return pieces(&sheet{text: text}, caps.Markup, caps.TextMax, caps.Unit)
	}
	s := lay(text, roomy(caps.Markup, caps.TextMax).traits())
	s.text = strings.TrimRightFunc(s.text, unicode.IsSpace)
	return pieces(s, caps.Markup, caps.TextMax, caps.Unit)
}

// Literal renders a text as one message in which nothing formats, whatever its
// length.
func Literal(text string, caps channels.Capabilities) Rendered {
	return whole(&sheet{text: clean(text)}, dialectOf(caps.Markup))
}

// Question renders a question as the messages it takes: literal text in which
// nothing formats, never shortened, with the buttons below the last one. With buttons each message is
// within caps.Buttons.TextMax, else within caps.TextMax. Labels are cut to
// caps.Buttons.LabelMax; where two of them would be the same, the buttons bear
// their values. An error means that the question can't be asked:
// ErrTooLong past four messages, ErrButtons where the platform has no buttons
// or not these.
func Question(text string, buttons []channels.Button, caps channels.Capabilities) ([]Rendered, error) {
	limit := caps.TextMax
	if len(buttons) > 0 {
		if err := possible(buttons, caps.Buttons); err != nil {
			return nil, err
		}
		if most := caps.Buttons.TextMax; most > 0 && (limit <= 0 || most < limit) {
			limit = most
		}
	}
	text = clean(text)
	if text == "" {
		return nil, errors.New("question without text")
	}
	parts := pieces(&sheet{text: text}, caps.Markup, limit, caps.Unit)
	if len(parts) > maxQuestion {
		return nil, fmt.Errorf("%d messages: %w", len(parts), ErrTooLong)
	}
	parts[len(parts)-1].Buttons = labelled(buttons, caps.Buttons)
	return parts, nil
}

func possible(buttons []channels.Button, limits *channels.ButtonLimits) error {
	if limits == nil {
		return fmt.Errorf("the platform has none: %w", ErrButtons)
	}
	if limits.Max > 0 && len(buttons) > limits.Max {
		return fmt.Errorf("%d, at most %d: %w", len(buttons), limits.Max, ErrButtons)
	}
	for _, b := range buttons {
		if limits.IDBytes > 0 && len(b.ID) > limits.IDBytes {
			return fmt.Errorf("id of %d bytes, at most %d: %w", len(b.ID), limits.IDBytes, ErrButtons)
		}
	}
	return nil
}

// labelled is buttons with labels of one line that fit.
func labelled(buttons []channels.Button, limits *channels.ButtonLimits) []channels.Button {
	if len(buttons) == 0 {
		return nil
	}
	fit := make([]channels.Button, len(buttons))
	for i, b := range buttons {
		fit[i] = b
		fit[i].Label = shorten(strings.Join(strings.Fields(clean(b.Label)), " "), limits.LabelMax)
		if blank(fit[i].Label) {
			fit[i].Label = b.Value
		}
	}
	if alike(fit) {
		// WhatsApp refuses the question then, and nobody else could tell which
		// button is which.
		for i, b := range buttons {
			fit[i].Label = shorten(b.Value, limits.LabelMax)
		}
	}
	return fit
}

// alike tells whether two buttons have the same label.
func alike(buttons []channels.Button) bool {
	seen := make(map[string]bool, len(buttons))
	for _, b := range buttons {
		label := strings.ToLower(b.Label)
		if seen[label] {
			return true
		}
		seen[label] = true
	}
	return false
}

// shorten cuts label to most runes, the last one an ellipsis, and not within
// what a reader sees as one character, unless that alone is too long.
func shorten(label string, most int) string {
	if most <= 0 || Length(label, channels.UnitRune) <= most {
		return label
	}
	end, rest, state := 0, label, -1
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if Length(label[:end+len(cluster)], channels.UnitRune) > most-1 {
			break
		}
		end += len(cluster)
	}
	if end == 0 {
		return string([]rune(label)[:most])
	}
	return strings.TrimRight(label[:end], " ") + "…"
}
