package tool

import (
	"context"
	"encoding/json"
	"time"
)

// Effect says what running a tool twice would do (behaviour G4).
type Effect string

// The effects. The zero value is unsafe.
const (
	Read       Effect = "read"
	Idempotent Effect = "idempotent"
	Unsafe     Effect = "unsafe"
)

// Tool is one tool as configured: all kinds have these fields.
type Tool struct {
	Name  string // ^[a-zA-Z0-9_-]{1,64}$
	Kind  string // script, http, sql, mcp
	Title string // shown to people; "" is the humanized name
	// Titles are titles in other languages, by language (BCP 47).
	Titles      map[string]string
	Description string // shown to the model only
	// Schema is the JSON Schema 2020-12 that the model sees; nil takes no
	// arguments.
	Schema json.RawMessage
	// Labels maps argument key → value → label (behaviour B10).
	Labels map[string]map[string]string
	// Confirm asks a person first; a Runner that is a Predicate decides by
	// the arguments instead.
	Confirm bool
	// Dedupe is the window of behaviour C3; 0 is off.
	Dedupe time.Duration
	// Timeout of one run: nil is the loop's default, 0 is none.
	Timeout *time.Duration
	Effect  Effect
	// Digest changes with anything about the tool that a person's approval
	// rests on: kind, definition, code (behaviour B28). The registry fills
	// in what the kind left out.
	Digest string
	Runner Runner
}

// Runner runs one tool. A failure of the tool is a Result (Failed), told to
// the model; an error is the operator's: the tool could not be run at all.
//
// Run returns soon after ctx ended. It never runs a call on arguments other
// than those it is given.
type Runner interface {
	Run(ctx context.Context, call Call) (Result, error)
}

// The optional sides of a Runner. Each is called with validated arguments,
// under a short timeout, and may fail: then nobody is asked (B10).
type (
	// Parser replaces the arguments by parsed ones (zod's data). Invalid
	// ones give violations; err is the operator's.
	Parser interface {
		Parse(ctx context.Context, call Call) (parsed json.RawMessage, violations []Violation, err error)
	}
	// Predicate tells whether these arguments need a confirmation. A Tool
	// whose Runner is a Predicate is asked instead of Tool.Confirm, where
	// HasPredicate says so.
	Predicate interface {
		HasPredicate() bool
		NeedsConfirm(ctx context.Context, call Call) (bool, error)
	}
	// Liner gives the lines of the question. ok false: no lines of its own.
	Liner interface {
		ConfirmLines(ctx context.Context, call Call) (lines []string, ok bool, err error)
	}
	// Readier tells what keeps a call from being run at all, as far as that
	// can be known without running it: the failed result that Run would give,
	// nil where nothing does. Nobody is asked to approve such a call (A10).
	Readier interface {
		Ready(ctx context.Context, call Call) *Result
	}
	// Messager gives the whole question. ok false: no message of its own.
	Messager interface {
		ConfirmMessage(ctx context.Context, call Call) (text string, ok bool, err error)
	}
)

// Call is one run of a tool.
type Call struct {
	// ID is TURN.STEP.INDEX, never reused: the idempotency key.
	ID   string
	Tool string
	// Args is the validated value, JSON.
	Args json.RawMessage
	// Raw is what the model wrote, as [Registry.Validate] gave it before a
	// Parser replaced it. With it a script's handler gets the validator's
	// own data, also where JSON can't carry it (dates); nil is fine.
	Raw      json.RawMessage
	Identity Identity
	// Lang is the chat's language.
	Lang string
	// Store reads the scopes of ctx.store; nil where there is none.
	Store Store
}

// Identity is who a call is made for: from the channel, never from a model.
type Identity struct {
	ChatKey string            `json:"chat_key"`
	Channel string            `json:"channel"`
	UserID  string            `json:"user_id"`
	Name    string            `json:"name,omitempty"`
	Claims  map[string]string `json:"claims,omitempty"`
}

// Scope names one key space of ctx.store.
type Scope string

// ScopeOf builds the scope of a chat, a user of a channel, or the bot.
func ScopeOf(kind, channel, id string) Scope {
	switch kind {
	case "user":
		return Scope("user:" + channel + ":" + id)
	case "bot":
		return Scope("bot")
	default:
		return Scope("chat:" + id)
	}
}

// Store reads what tools have saved. Writes are buffered by the runner, read
// back within the call, and returned in Result.Writes: they are committed
// with the result, so a run that fails or is killed leaves none.
type Store interface {
	// Get returns nil, 0 when there is no such key. version counts the
	// writes to the key.
	Get(ctx context.Context, scope Scope, key string) (value json.RawMessage, version int64, err error)
	// List returns the keys with that prefix, sorted, 1,000 at the most.
	List(ctx context.Context, scope Scope, prefix string) ([]string, error)
}

// Write is one buffered change to a Store.
type Write struct {
	Scope Scope           `json:"scope"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"` // nil deletes
	// IfVersion, where not nil, is what the key's version must still be
	// when the result is committed (update). Otherwise nothing is written
	// and the run is repeated if Result.Pure, else fails as conflict.
	IfVersion *int64 `json:"if_version,omitempty"`
}

// Result is what came of a run.
type Result struct {
	// Value is JSON; nil is no value ("ok"), a JSON string goes to the model
	// as it is (behaviour A7).
	Value json.RawMessage
	// Failed marks a failed tool result. Value says what and why.
	Failed bool
	// Unknown: the run may or may not have taken effect (G4).
	Unknown bool
	// TimedOut: the deadline ended the run.
	TimedOut bool
	// Pure: the run did nothing but Store reads and Writes.
	Pure   bool
	Writes []Write
}

// Violation is one thing wrong with arguments.
type Violation struct {
	Path    string `json:"path"` // JSON pointer, "" is the whole
	Message string `json:"message"`
}
