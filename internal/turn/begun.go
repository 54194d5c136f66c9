package turn

import (
	"encoding/json"
	"time"

	"github.com/parley-bot/parley/internal/ledger"
)

// Begun is a call that was under way when its turn ended: nobody will know
// what came of it (behaviour G4).
type Begun struct {
	// Run tells of it as the session would remember it.
	Run ledger.Run
	// Remember is true where the session does (behaviour C1).
	Remember bool
}

// BegunOf reads from a turn as it was saved which call was under way at now.
// There is one at the most: they are made one after the other. ok is false
// where none was, or where the journal can't be read.
func BegunOf(version int, saved json.RawMessage, now time.Time) (b Begun, ok bool) {
	j, err := decodeJournal(version, saved)
	if err != nil {
		return b, false
	}
	for i := range j.Calls {
		if c := &j.Calls[i]; c.Started && c.Result == nil {
			return Begun{Run: c.run(unknownResult("cancelled"), true, now), Remember: c.remembered()}, true
		}
	}
	return b, false
}

// remembered tells whether the session remembers what the call did.
func (c *callState) remembered() bool { return c.Approved || c.Dedupe > 0 }

// run is the memory of the call.
func (c *callState) run(result json.RawMessage, unknown bool, now time.Time) ledger.Run {
	return ledger.Run{
		CallID: c.ID, Tool: c.Name, Title: c.Title, ArgsHash: c.Hash, Args: c.Args, Lines: c.Lines, Result: result,
		Unknown: unknown, Confirmed: c.Approved, EndedAt: now, KeepUntil: now.Add(ledger.Keep(c.Dedupe)),
	}
}
