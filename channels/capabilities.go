package channels

import "time"

// TextUnit is what a platform counts when it limits a text.
type TextUnit string

// The units. The zero value counts runes.
const (
	UnitRune  TextUnit = ""
	UnitUTF16 TextUnit = "utf16"
	UnitByte  TextUnit = "byte"
)

// Capabilities tells what a platform can do in one chat. The zero value is a
// platform that takes plain text of any length and nothing else.
type Capabilities struct {
	// TextMax is the longest text of one message, in Unit; 0 is no limit.
	// It counts what is sent, markup included; with MarkupHTML it counts what
	// is seen, as Telegram does.
	TextMax int
	Unit    TextUnit
	// Markup is the dialect that texts are rendered to.
	Markup Markup

	// Buttons is nil where questions are asked in words.
	Buttons *ButtonLimits
	// Edit says whether a sent message can be changed; an adapter that
	// isn't an Editor has the zero value.
	Edit EditLimits
	// Typing is how long one sign of typing lasts; 0 where there is none.
	Typing time.Duration
	// Private is true where one person in a group can be told something
	// that the others don't see.
	Private bool
	// Threads is true where chats have topics or threads.
	Threads bool
	// ReplyWindow is how long after a person's message the bot may write;
	// 0 is for ever.
	ReplyWindow time.Duration
	// Idempotent is true where a Part sent again under the same Key is
	// shown once. Only then may the outbox repeat a send freely.
	Idempotent bool
	// Refuses is true where Sink.Accept may refuse a message that is over
	// a limit, since the sender sees it (429). Elsewhere it is taken and
	// answered by a notice.
	Refuses bool
	// Budget is how often the platform lets the bot send; the outbox keeps
	// within it. The zero value is as often as it likes.
	Budget Budget
	// MediaMax maps a MIME type or "image/*" to the largest size in bytes
	// that can be sent.
	MediaMax map[string]int64
}

// Budget bounds sends and edits together. What is over it waits; nothing is
// dropped.
type Budget struct {
	// Chat is for this chat alone.
	Chat Rate
	// Account is for all chats of the account together.
	Account Rate
}

// Rate is Sends in any order at first, and then one more each time a Sends-th
// of Per has gone by (a token bucket that holds Sends). Without both fields it
// is no bound.
type Rate struct {
	Sends int
	Per   time.Duration
}

// ButtonLimits bounds the buttons below one message.
type ButtonLimits struct {
	Max      int // how many
	LabelMax int // runes of a label; 0 is no limit
	IDBytes  int // bytes of an id; 0 is no limit
	// TextMax is the longest text beside buttons, in Capabilities.Unit;
	// 0 is the same as without.
	TextMax int
}

// EditLimits bounds changes to sent messages.
type EditLimits struct {
	// Text is true where the text can be replaced and buttons taken away.
	Text bool
	// MaxAge is how old a message may be; 0 is no limit.
	MaxAge time.Duration
	// MinInterval is how long to leave between two edits of one message.
	MinInterval time.Duration
	// Draft is how often a text that is still being written may be shown
	// anew, by edits of one message; 0 is where a text isn't shown before it
	// is whole. It is no shorter than MinInterval.
	Draft time.Duration
}
