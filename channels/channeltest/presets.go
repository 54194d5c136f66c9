package channeltest

import (
	"time"

	"github.com/parley-bot/parley/channels"
)

// Rich is a platform that can do most: edits, buttons, acks, typing.
func Rich() Config {
	return Config{
		Caps: channels.Capabilities{
			TextMax: 4096, Unit: channels.UnitUTF16, Markup: channels.MarkupHTML,
			Buttons: &channels.ButtonLimits{Max: 8, LabelMax: 64, IDBytes: 64},
			Edit:    channels.EditLimits{Text: true},
			Typing:  5 * time.Second, Threads: true,
		},
		Acks: true,
	}
}

// ButtonsOnly is a platform with buttons that can't edit what it sent and
// whose presses want no ack.
func ButtonsOnly() Config {
	return Config{Caps: channels.Capabilities{
		TextMax: 4096, Markup: channels.MarkupWhatsApp,
		Buttons:     &channels.ButtonLimits{Max: 3, LabelMax: 20, IDBytes: 256, TextMax: 1024},
		ReplyWindow: 24 * time.Hour,
	}}
}

// TextOnly is a platform that knows short plain texts and nothing else.
func TextOnly() Config {
	return Config{Caps: channels.Capabilities{TextMax: 1600}}
}

// Idempotent is a platform that shows a part sent again under the same key
// once, and whose people see it when a message is refused.
func Idempotent() Config {
	return Config{
		Caps: channels.Capabilities{
			Buttons: &channels.ButtonLimits{Max: 10},
			Edit:    channels.EditLimits{Text: true},
			Typing:  10 * time.Second, Idempotent: true, Refuses: true,
		},
		Acks: true,
	}
}
