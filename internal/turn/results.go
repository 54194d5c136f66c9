package turn

import (
	"encoding/json"

	"github.com/parley-bot/parley/internal/tool"
)

// The wordings that a model sees. They are English and stable: prompts and
// tests of users rest on them.

func obj(v map[string]any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		// Strings, booleans and violations always marshal.
		panic(err)
	}
	return b
}

func invalidResult(vs []tool.Violation) json.RawMessage {
	return obj(map[string]any{"error": "invalid_arguments", "details": vs, "note": "The user was not asked."})
}

func unknownToolResult(name string, known []string) json.RawMessage {
	return obj(map[string]any{"error": "unknown_tool", "tool": name, "tools": known, "note": "There is no such tool. Use one of these, or tell the user that you can't do it."})
}

func repeatedResult() json.RawMessage {
	return obj(map[string]any{"error": "repeated_failure", "note": "This very call failed twice already and was not made again. Change the arguments, or tell the user."})
}

func deniedResult() json.RawMessage {
	return obj(map[string]any{"executed": false, "reason": "denied", "note": "The user said no. Don't call it again unless the user asks for it."})
}

func repliedResult(text string) json.RawMessage {
	return obj(map[string]any{
		"executed": false, "reason": "user_replied", "userReply": text,
		"note": "The user answered this instead of yes or no. Call the tool again with corrected arguments if that is what they want (they are asked again), or answer them.",
	})
}

func skippedResult() json.RawMessage {
	return obj(map[string]any{"executed": false, "reason": "skipped", "note": "Not run."})
}

func truncatedResult() json.RawMessage {
	return obj(map[string]any{"executed": false, "reason": "truncated", "note": "Your message was cut off at the output limit, so this call may be incomplete and was not run. Write less, or make fewer calls at once."})
}

func unavailableResult() json.RawMessage {
	return obj(map[string]any{"executed": false, "reason": "confirmation_unavailable", "note": "This needs a person's confirmation, which can't be asked for here."})
}

func tooLongResult() json.RawMessage {
	return obj(map[string]any{"error": "too_long_to_confirm", "note": "The question to the user would be too long, so they were not asked. Use shorter arguments, or split the request."})
}

func brokenQuestionResult(msg string) json.RawMessage {
	return obj(map[string]any{"error": "confirmation_failed", "message": msg, "note": "The question to the user could not be built, so they were not asked and nothing was done."})
}

func changedResult() json.RawMessage {
	return obj(map[string]any{"error": "tool_changed", "note": "The tool has changed since the user was asked, so nothing was run. Tell the user, or call it again as it is now."})
}

func failedResult(msg string) json.RawMessage {
	return obj(map[string]any{"error": "failed", "message": msg})
}

func conflictResult() json.RawMessage {
	return obj(map[string]any{"error": "conflict", "note": "What it changes was changed by somebody else at the same time. Nothing was saved; try again."})
}

// unknownResult says that nobody can tell whether the call took effect.
func unknownResult(why string) json.RawMessage {
	return obj(map[string]any{
		"executed": "unknown", "error": why,
		"note": "It may have taken effect. Check if you can, tell the user so, and don't repeat it unless the user asks.",
	})
}
