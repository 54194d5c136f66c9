package turn

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// journalVersion is the form of the saved state. A journal of another version
// fails its turn: guessing could run something that nobody approved.
const journalVersion = 1

// journal is the whole state of a turn between two steps.
type journal struct {
	// Lang is the chat's language when the turn began: a question and what
	// is compared with it must be in one language.
	Lang string `json:"lang"`
	// Lines are what the person said in this turn: the message, then each
	// reply to a question.
	Lines []string `json:"lines"`
	// Said is when the newest of what the turn took was written, on the
	// platform's own clock; zero where that has none.
	Said time.Time `json:"said,omitzero"`
	// Messages are the turn's own transcript, its first message included.
	Messages []llm.Message `json:"messages"`
	// Calls are those of the last assistant message, until all have a
	// result.
	Calls []callState `json:"calls,omitempty"`
	// Steps counts model calls through the whole turn, Budget those since a
	// person's reply reached the model.
	Steps  int `json:"steps"`
	Budget int `json:"budget"`
	// Done are titles of calls with effects that succeeded.
	Done []string `json:"done,omitempty"`
	// Failed counts failures by name and arguments.
	Failed map[string]int `json:"failed,omitempty"`
	// Retried is set once an empty final text was asked for again.
	Retried bool `json:"retried,omitempty"`
	// Worked is how long the turn has been worked on.
	Worked time.Duration `json:"worked"`
}

// callState is one call of the step under way.
type callState struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Raw is what the model wrote.
	Raw string `json:"raw"`
	// Args and Hash are set once validated; Title then names the action.
	Args  json.RawMessage `json:"args,omitempty"`
	Hash  string          `json:"hash,omitempty"`
	Title string          `json:"title,omitempty"`
	Lines []string        `json:"lines,omitempty"`
	// Announced is set once tool.call was emitted.
	Announced bool `json:"announced,omitempty"`
	// Saved is set once the call has a row.
	Saved bool `json:"saved,omitempty"`
	// Started is set in the commit before the call is made.
	Started bool `json:"started,omitempty"`
	// Dedupe is the tool's window when the call was made.
	Dedupe time.Duration `json:"dedupe,omitempty"`
	// Approved is set when a person has said yes to exactly this.
	Approved bool `json:"approved,omitempty"`
	// Reask is set when the yes was to something else: a person must be
	// asked again, whatever the tool says now.
	Reask bool `json:"reask,omitempty"`
	// Result is set once there is one.
	Result *llm.Result `json:"result,omitempty"`
}

func (j *journal) encode() (json.RawMessage, error) {
	b, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encoding turn: %w", err)
	}
	return b, nil
}

func decodeJournal(version int, b json.RawMessage) (journal, error) {
	var j journal
	if version != journalVersion {
		return j, fmt.Errorf("the saved turn has version %d, this parley reads %d", version, journalVersion)
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return j, fmt.Errorf("decoding saved turn: %w", err)
	}
	return j, nil
}
