package turn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/tool"
)

// Store is what a turn needs. Each call is one commit (Load only reads). Every
// write checks the lane's fence and returns lease.ErrLost if it is stale.
type Store interface {
	// Load is T2: what the lane has to do now.
	// History are the newest whole turns that have historyMax lines together.
	Load(ctx context.Context, l lease.Lane, historyMax int) (Work, error)
	// Step is T3: it saves the journal, and with a question parks the lane.
	// Where s.Wait is set and texts of the requester are queued already,
	// nothing is committed and they are returned instead.
	Step(ctx context.Context, l lease.Lane, s Step) (Stepped, error)
	// Start is T4: the call is about to be made.
	Start(ctx context.Context, l lease.Lane, s Start) error
	// Result is T5: what came of the call. ErrConflict means that a write of
	// the tool met a newer value: nothing was kept.
	Result(ctx context.Context, l lease.Lane, r Result) error
	// Late keeps what a call returned after its lane was lost, in the audit
	// only.
	Late(ctx context.Context, lane string, e audit.Event) error
	// Draft says something of an answer that is still being written, once a
	// turn: where that was done already nothing is said and the draft that is
	// there is returned. It isn't a step: attempts count on.
	Draft(ctx context.Context, l lease.Lane, d Draft) (Drafted, error)
	// Finish is T6: the turn is over. Where there is a draft, the first of
	// what is said takes its place; what hasn't left of it is withdrawn.
	Finish(ctx context.Context, l lease.Lane, f Finish) (Finished, error)
	// KV reads what tools saved.
	tool.Store
}

// ErrConflict is what Result returns when a value that a tool read and changed
// was changed by another call meanwhile.
var ErrConflict = errors.New("a saved value has changed meanwhile")

// Input is one accepted message.
type Input struct {
	Seq int64
	In  channels.Inbound
}

// Work is what a lane has to do.
type Work struct {
	Channel string
	ChatKey string
	// Lang is what /lang set for the lane, or "".
	Lang string
	// Saved is the turn to go on with, nil where Queue[0] starts one.
	Saved *Saved
	// Queue are the first messages that wait, oldest first, none of them
	// taken by a turn: one, or up to 50 where the turn was answered by a
	// reply and takes what came behind it.
	Queue []Input
	// History are the chat's stored lines, oldest first, by turn.
	History []Line
	// Runs are the remembered runs of the session, newest first.
	Runs []ledger.Run
	// Draft is what the turn that starts here has said already, before it was
	// cut short; nil where nothing.
	Draft *Drafted
}

// Line is one stored line of a chat's history.
type Line struct {
	Turn int64 // lines of one turn share it
	Role string
	Text string
}

// Saved is a turn as it was last committed.
type Saved struct {
	ID      string
	SeqFrom int64
	SeqTo   int64
	// Input is the message that started it.
	Input   channels.Inbound
	Version int
	Journal json.RawMessage
	// Calls are the turn's calls that the journal has no result of.
	Calls []CallState
	// Wait is the turn's question, where it has ended.
	Wait *confirm.Saved
}

// CallState is a call as it was last committed.
type CallState struct {
	ID     string
	State  string // proposed, started
	Effect tool.Effect
}

// States of a call.
const (
	CallProposed  = "proposed"
	CallStarted   = "started"
	CallSucceeded = "succeeded"
	CallFailed    = "failed"
	CallUnknown   = "unknown"
)

// Call is a call as it is first saved.
type Call struct {
	ID     string
	Tool   string
	Args   json.RawMessage
	Effect tool.Effect
}

// Step is the commit of a model's answer, or of a question.
type Step struct {
	TurnID  string
	SeqFrom int64
	SeqTo   int64
	// UserLines are the person's lines so far, for the history of a turn
	// that is ended from outside.
	UserLines []string
	Version   int
	Journal   json.RawMessage
	// Calls are saved as proposed.
	Calls []Call
	// Started is the id of the call among Calls or saved before that is
	// about to be made, or "".
	Started string
	// Take are seqs of queued messages that this turn has consumed.
	Take []int64
	// Wait parks the lane on a question that is the last of Say.
	Wait   *confirm.Wait
	Say    []channels.Part
	Events []audit.Event
	// Own is true where this process sends for the channel, so that what is
	// said may be born sending.
	Own bool
}

// Stepped is what a step did.
type Stepped struct {
	// Texts are the requester's queued messages; nothing was committed.
	Texts []Input
	Spoke
}

// Start is the commit before a call.
type Start struct {
	TurnID  string
	CallID  string
	Version int
	Journal json.RawMessage
	Events  []audit.Event
}

// Result is the commit after a call.
type Result struct {
	TurnID  string
	CallID  string
	State   string
	Value   json.RawMessage
	Version int
	Journal json.RawMessage
	Writes  []tool.Write
	// Run is remembered where not nil.
	Run    *ledger.Run
	Events []audit.Event
}

// Draft is the commit of the beginning of an answer.
type Draft struct {
	// Seq is the message that is answered.
	Seq  int64
	Part channels.Part
	Own  bool
}

// Drafted is a draft in the outbox.
type Drafted struct {
	// Seq is the entry's number.
	Seq int64
	// Sent is the platform's id of it, once it has left.
	Sent channels.MessageID
	// Lost is true where it won't be seen: there is nothing to edit.
	Lost bool
	// Spoke is what this commit put into the outbox, if anything.
	Spoke Spoke
}

// Finish is the commit that ends a turn.
type Finish struct {
	// TurnID is "" for a turn that was never saved.
	TurnID string
	SeqTo  int64
	// State is done, failed or cancelled.
	State string
	Error string
	// Lines are added to the history: the person's, then the answer.
	Lines []Line
	Say   []channels.Part
	Take  []int64
	// Events end what the turn has begun, in the audit's words.
	Events []audit.Event
	Own    bool
}

// Spoke tells what a commit put into the outbox.
type Spoke struct {
	// Seq is the first entry's number, 0 where nothing was said. Born is
	// true where it is marked as sending: the caller's process sends it.
	Seq  int64
	Born bool
	// Asks is the timeout of the question that the last entry asks.
	Asks time.Duration
}

// Finished is what the end of a turn left.
type Finished struct {
	// More is true where the lane has further work; the lease is gone.
	More bool
	Spoke
}
