package audit

import "encoding/json"

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

// Event is one thing the tool loop did. It is stored in the commit of the step
// it tells of.
type Event struct {
	At         int64           `json:"at"` // milliseconds since 1970
	Type       string          `json:"type"`
	Step       int             `json:"step"` // from 1, through the whole turn
	Turn       string          `json:"turn,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	CallID     string          `json:"callId,omitempty"`
	ChatKey    string          `json:"chatKey,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	DurationMs int64           `json:"durationMs,omitempty"`
	Error      string          `json:"error,omitempty"`
	Actor      string          `json:"actor,omitempty"` // who approved
}

// Row is a stored event.
type Row struct {
	ID    int64
	Event json.RawMessage
}
