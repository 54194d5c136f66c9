package ledger

import (
	"bytes"
	"encoding/json"
	"time"
)

// minKeep is how long a run is remembered at least.
const minKeep = 30 * time.Minute

// Keep is how long a run of a tool with that dedupe window (0: none) is
// remembered after it ended: 30 minutes, or the window if longer.
func Keep(window time.Duration) time.Duration { return max(minKeep, window) }

// Remember tells whether a run counts as done (behaviour C4): one that
// succeeded, or may have. A result that is an object with a non-empty error
// did nothing: anything there but null, false, 0, "", [] and {}.
func Remember(result json.RawMessage, failed, unknown bool) bool {
	switch {
	case unknown:
		return true
	case failed:
		return false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(result, &object) != nil {
		return true
	}
	return emptyValue(object["error"])
}

func emptyValue(raw json.RawMessage) bool {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return true
	}
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return len(bytes.TrimSpace([]byte(v))) == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return true
	}
}

// Age is how long ago the run ended, never negative: clocks go backwards.
func (r Run) Age(now time.Time) time.Duration { return max(0, now.Sub(r.EndedAt)) }

// kept tells whether the run is still remembered. A run saved without an end
// of its memory has the shortest.
func (r Run) kept(now time.Time) bool {
	if r.KeepUntil.IsZero() {
		return r.Age(now) < minKeep
	}
	return now.Before(r.KeepUntil)
}

// Previous finds the latest run of tool with the same arguments that is still
// remembered (behaviour C1). runs may be in any order.
func Previous(runs []Run, tool, argsHash string, now time.Time) (Run, bool) {
	return latest(runs, func(r Run) bool {
		return r.Tool == tool && r.ArgsHash == argsHash && r.kept(now)
	})
}

// Duplicate finds the latest run that makes a call of tool with the same
// arguments a duplicate: remembered and younger than window (behaviour C3).
// A window of 0 or less finds none.
func Duplicate(runs []Run, tool, argsHash string, window time.Duration, now time.Time) (Run, bool) {
	return latest(runs, func(r Run) bool {
		return r.Tool == tool && r.ArgsHash == argsHash && r.kept(now) && r.Age(now) < window
	})
}

// latest is the run that ended last of those that match; of several that ended
// at once the last in runs.
func latest(runs []Run, match func(Run) bool) (found Run, ok bool) {
	for _, r := range runs {
		if match(r) && (!ok || !r.EndedAt.Before(found.EndedAt)) {
			found, ok = r, true
		}
	}
	return found, ok
}

// duplicate is what the model gets in place of a duplicate's result.
type duplicate struct {
	Executed bool           `json:"executed"`
	Reason   string         `json:"reason"`
	Previous previousResult `json:"previous"`
}

type previousResult struct {
	Outcome    string          `json:"outcome,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	SecondsAgo int64           `json:"secondsAgo"`
}

// DuplicateResult is the result of a call that run makes a duplicate
// (behaviour C3):
//
//	{"executed": false, "reason": "duplicate", "previous": {"result": …, "secondsAgo": n}}
//
// with "outcome": "unknown" in place of the result where that isn't known.
func DuplicateResult(run Run, now time.Time) json.RawMessage {
	d := duplicate{Reason: "duplicate", Previous: previousResult{SecondsAgo: int64(run.Age(now) / time.Second)}}
	switch {
	case run.Unknown:
		d.Previous.Outcome = "unknown"
	case len(bytes.TrimSpace(run.Result)) == 0:
		d.Previous.Result = json.RawMessage(`"ok"`)
	case !json.Valid(run.Result):
		d.Previous.Result = encode(string(run.Result))
	default:
		d.Previous.Result = run.Result
	}
	return encode(d)
}

// encode writes JSON without escaping what HTML would mind: a model reads it.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Only strings, numbers and JSON that was checked get here.
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
