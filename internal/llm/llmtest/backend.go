package llmtest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

// Backend is a fake server's knowledge of one API's dialect.
type Backend interface {
	// Answer writes a, as a stream where the request asks for one. It
	// flushes after each of a.Pieces.
	Answer(w http.ResponseWriter, r *http.Request, body []byte, a Answer)
	// Fail writes f, with the status and the body that the API has for it.
	Fail(w http.ResponseWriter, f Failure)
	// Read translates a request back.
	Read(r *http.Request, body []byte) (Seen, error)
	// Lacks tells that the dialect has no way to say s.
	Lacks(s Scenario) bool
}

// Scenario names what not every dialect can say.
type Scenario string

// The scenarios that a Backend may lack.
const (
	CallIDs     Scenario = "call ids"        // calls have ids, which may be missing or repeat
	ObjectArgs  Scenario = "object args"     // arguments as an object where text is usual
	BrokenArgs  Scenario = "broken args"     // arguments that aren't JSON
	UnknownStop Scenario = "unknown stop"    // a stop reason nobody knows
	Refusal     Scenario = "refusal"         // a refusal apart from the text
	Filtered    Scenario = "filtered"        // the request is refused by a filter
	Opaque      Scenario = "opaque"          // something the API wants back with a message
	NoTools     Scenario = "no tools"        // the model takes no tools
	KeyHeader   Scenario = "key"             // the API takes a key
	ErrorInSSE  Scenario = "error in stream" // an error event within a stream
)

// Answer is what a fake server says, in no dialect.
type Answer struct {
	Pieces []string   // the text, as a stream splits it
	Calls  []llm.Call // ID, Name, Args
	// Object gives the arguments as an object where the dialect has text.
	Object bool
	Stop   llm.Stop
	// RawStop, where not "", is the stop reason literally.
	RawStop string
	Refusal string
	Usage   llm.Usage
	Opaque  string // encoded in the API's own field
	// Unfinished leaves out the stop reason and whatever ends a stream.
	Unfinished bool
	// ErrorEvent ends a stream by an error of the API.
	ErrorEvent bool
}

// Failure is a failed call, in no dialect.
type Failure struct {
	Class   llm.Class
	After   time.Duration // whole seconds; 0 is no Retry-After
	Message string
}

// Seen is a request, in no dialect.
type Seen struct {
	System string
	// Messages hold role, text, calls and results as the API would pair
	// them: CallID of a result is the ID of its call. Adjacent results are
	// one message.
	Messages  []llm.Message
	Tools     []llm.Card
	MaxTokens int
	Stream    bool
	Key       string // the credential, wherever it was
	Opaque    string // as in Answer
}

// Setup is what a Factory builds a provider from.
type Setup struct {
	// URL is the fake server's root, without a path.
	URL     string
	Key     secret.String
	Model   string
	Timeout time.Duration
}

// Factory builds the provider under test.
type Factory func(t *testing.T, s Setup) llm.Provider

// card is the tool that requests carry.
func card() llm.Card {
	return llm.Card{
		Name: "place_order", Description: "Places an order. Not for questions.",
		Schema: json.RawMessage(`{"type":"object","properties":{"product":{"type":"string","enum":["café","rye_bread"]}},"required":["product"],"additionalProperties":false}`),
	}
}
