package llm

import (
	"context"
	"encoding/json"
)

// Provider is one model behind one API.
type Provider interface {
	// Name is the provider's kind, as in the configuration: openai, script.
	Name() string
	// Model is the model's name, as in the configuration.
	Model() string
	// Generate makes one call, without retries. onText, where not nil, gets
	// the text as it grows: each time the whole of it so far. A failure is an *Error. A stream that ends
	// without the API's own finish reason is a failure (Temporary), however
	// cleanly the connection was closed.
	Generate(ctx context.Context, req Request, onText func(text string)) (Response, error)
}

// Request is what a model is asked.
type Request struct {
	// System are the parts of the system prompt, stable ones first.
	System []string
	// Messages alternate as the loop made them; a provider that demands
	// strict alternation joins adjacent ones itself.
	Messages []Message
	// Tools are the cards, in a stable order.
	Tools []Card
	// MaxTokens bounds the answer; 0 is the API's default.
	MaxTokens int
}

// Role says who a message is from.
type Role string

// The roles. RoleTool carries results, one message for all calls of a step.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the transcript.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are what the assistant asked for, in its order.
	Calls []Call `json:"calls,omitempty"`
	// Results answer the calls of the message before, in the same order.
	Results []Result `json:"results,omitempty"`
	// Opaque is what the API wants back with this message (signatures,
	// reasoning). It is only ever sent to the provider named in From.
	Opaque json.RawMessage `json:"opaque,omitempty"`
	// From is "provider/model" of the model that wrote it.
	From string `json:"from,omitempty"`
}

// Call is one tool call that a model asked for.
type Call struct {
	// ID is ours, unique in the turn; providers' own ids stay in Opaque of
	// the message or are this one, as the API allows.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is what the model wrote, maybe not JSON: "" where it wrote
	// nothing. A provider whose API carries an object gives its JSON.
	Args string `json:"args"`
	// Opaque is what the API wants back with this call.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// Result is what a model is told of one call.
type Result struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Content string `json:"content"`
	Failed  bool   `json:"failed,omitempty"`
}

// Card is all that a model sees of a tool.
type Card struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// Stop says why a model ended its answer.
type Stop string

// The stop reasons. An API's unknown reason is StopOther, with text and calls
// taken as they are.
const (
	StopEnd    Stop = "end"
	StopCalls  Stop = "calls"
	StopLength Stop = "length" // its output-token cap
	StopFilter Stop = "filter" // content filter or refusal
	StopOther  Stop = "other"
)

// Response is a model's whole answer.
type Response struct {
	Text   string
	Calls  []Call // IDs are the API's own here; the loop mints ours
	Stop   Stop
	Usage  Usage
	Opaque json.RawMessage
	// From is "provider/model" of the model that answered.
	From string
}

// Usage counts tokens; zero where the API doesn't say.
type Usage struct {
	Input  int
	Output int
}

// CardEncoder is a Provider that can show the cards as its API receives them
// (behaviour A12).
type CardEncoder interface {
	// EncodeCards returns the JSON of the request's field that holds them.
	EncodeCards(tools []Card) (json.RawMessage, error)
}

// Checker is a Provider that can tell, without asking for an answer, whether
// its address, its key and its model are good (parley check --live).
type Checker interface {
	// Check asks the API about the model. tools says whether it is to take
	// any: one that can't is an *Error of class NoTools.
	Check(ctx context.Context, tools bool) error
}
