package audit

import (
	"encoding/json"
	"slices"
)

// Names of events (behaviour D1).
const (
	ToolCall         = "tool.call"
	ConfirmRequested = "tool.confirm.requested"
	ConfirmApproved  = "tool.confirm.approved"
	ConfirmDenied    = "tool.confirm.denied"
	ConfirmCancelled = "tool.confirm.cancelled"
	ConfirmReplied   = "tool.confirm.replied"
	ToolDuplicate    = "tool.duplicate"
	ToolResult       = "tool.result"
	ToolError        = "tool.error"
	ToolTimeout      = "tool.timeout"
	ToolInvalidArgs  = "tool.invalid_args"
	ToolUnknown      = "tool.unknown"
	ToolTruncated    = "tool.truncated"
	OutcomeUnknown   = "tool.outcome_unknown"
	LoopMaxSteps     = "loop.max_steps"
)

// ErrorTimeout is Event.Error of a ConfirmCancelled by expiry.
const ErrorTimeout = "timeout"

// Event is one thing the tool loop did. It is stored in the commit of the step
// it tells of. Fields that don't apply are left out.
type Event struct {
	At   int64  `json:"at"` // milliseconds since 1970
	Type string `json:"type"`
	Step int    `json:"step"` // from 1, through the whole turn
	Turn string `json:"turn,omitempty"`
	Tool string `json:"tool,omitempty"`
	// CallID is TURN.STEP.INDEX.
	CallID  string `json:"callId,omitempty"`
	ChatKey string `json:"chatKey,omitempty"`
	// Args are the call's arguments after redaction. What a model wrote that
	// is no JSON becomes a string.
	Args json.RawMessage `json:"args,omitempty"`
	// DurationMs is how long the call ran, or the question stood; of a call
	// that ended it is written even where it is 0.
	DurationMs int64  `json:"durationMs,omitempty"`
	Error      string `json:"error,omitempty"`
	Actor      string `json:"actor,omitempty"` // who answered
}

// MarshalJSON writes the event as one line.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	out := struct {
		plain
		DurationMs *int64 `json:"durationMs,omitempty"`
	}{plain: plain(e)}
	if e.DurationMs > 0 || slices.Contains([]string{ToolResult, ToolError, ToolTimeout, OutcomeUnknown}, e.Type) {
		out.DurationMs = new(max(0, e.DurationMs))
	}
	if len(e.Args) > 0 && !json.Valid(e.Args) {
		text, err := json.Marshal(string(e.Args))
		if err != nil {
			return nil, err
		}
		out.Args = text
	}
	return json.Marshal(out)
}

// Row is a stored event, and a line of `parley audit --json`.
type Row struct {
	// ID grows by each event; there may be gaps.
	ID int64 `json:"id"`
	// Event is as in the file and the webhook of the configuration.
	Event json.RawMessage `json:"event"`
}
