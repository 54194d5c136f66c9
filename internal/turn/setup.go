package turn

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/tool"
)

// Setup is what turns go by. It is replaced as a whole (Engine.Use): a turn
// reads it once each time it goes on.
type Setup struct {
	Persona string
	Model   Model
	Tools   *tool.Registry
	Texts   *locale.Catalog

	// HistoryMessages and HistoryTokens bound what a model is told of
	// earlier turns.
	HistoryMessages int
	HistoryTokens   int

	// Stream shows answers while they are written, where the bot has no
	// tools and the channel can.
	Stream bool

	// MaxSteps caps model calls in a turn, counted anew when a person's
	// reply reaches the model.
	MaxSteps int
	// MaxStepsMessage replaces the text of the language, where not "".
	MaxStepsMessage string
	// ToolTimeout is for tools without one of their own; 0 is none.
	ToolTimeout time.Duration
	// Deadline bounds a turn's work, waiting for people not counted.
	Deadline time.Duration
	// OutputCap bounds what a model is told of a result, in bytes.
	OutputCap int

	// Redact masks arguments in audit events; nil leaves them.
	Redact *audit.Redactor

	Confirm Confirm
}

// Confirm is how questions are asked.
type Confirm struct {
	Timeout time.Duration
	// Buttons is false where questions are always asked in words.
	Buttons        bool
	AnsweredNotice bool
	ExpiredNotice  bool
	AnswerBy       confirm.AnswerBy
	// NoNote leaves the confirm note and the done note out; Note, where not
	// "", replaces the confirm note.
	NoNote bool
	Note   string
}

// Model is a chain of language models.
type Model interface {
	Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error)
}

// hardMaxSteps is the end of any turn, however often people replied.
const hardMaxSteps = 50

// Deps are what turns are made with.
type Deps struct {
	Store Store
	// Adapter finds a channel by its name; false where it is configured no
	// more.
	Adapter func(channel string) (channels.Adapter, bool)
	// Own tells whether this process sends for the channel.
	Own func(channel string) bool
	// Spoke is told what a commit put into a chat's outbox.
	Spoke func(channel, chatKey string, s Spoke, parts []channels.Part)
	// Typing shows that the bot writes until stop is called.
	Typing func(channel string, chat channels.Chat) (stop func())
	// Draft opens the draft that an entry of a chat's outbox is: first is what
	// it was sent with, render makes the message of a text, false where it
	// needs more than one. nil shows no drafts.
	Draft func(channel, chatKey string, d Drafted, first channels.Part, render func(text string) (channels.Part, bool)) Drafting
	// Asked is told of each question, for metrics.
	Asked func(tool string)
	// Unavailable tells a store's error that may pass from one that won't.
	Unavailable func(error) bool
	// Now is the store's clock.
	Now func() time.Time
	Log *slog.Logger
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Channels are the label values to start from.
	Channels []string
}
