package ledger

import (
	"encoding/json"
	"time"
)

// Run is one remembered run of a tool (behaviour C1).
type Run struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	Title  string `json:"title"`
	// ArgsHash names the validated arguments in canonical form (C5).
	ArgsHash string          `json:"args_hash"`
	Args     json.RawMessage `json:"args,omitempty"`
	// Lines are the argument lines a person was or would be shown.
	Lines  []string        `json:"lines,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	// Unknown: it may or may not have taken effect (G4).
	Unknown bool `json:"unknown,omitempty"`
	// Confirmed: a person approved it.
	Confirmed bool      `json:"confirmed,omitempty"`
	EndedAt   time.Time `json:"ended_at"`
	KeepUntil time.Time `json:"keep_until"`
}
