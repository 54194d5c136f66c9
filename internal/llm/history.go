package llm

import (
	"slices"
	"strings"
)

// Turn is one turn of the stored history: the person's lines, then the
// assistant's answer where there was one. It is kept or left out as a whole.
type Turn []Message

// Trim flattens the newest turns, oldest of them first, that fit both
// maxMessages and maxTokens as [EstimateTokens] counts them. A negative limit
// is none; 0 keeps nothing. A turn is never split and no later turn is skipped
// to make room for an earlier one; turns at the head that start with the
// assistant's words are left out, since an API wants a person to begin
// (behaviour A14). The result shares the turns' messages and is nil where
// nothing fits.
func Trim(turns []Turn, maxMessages, maxTokens int) []Message {
	first, count, tokens := len(turns), 0, 0
	for first > 0 {
		turn := turns[first-1]
		cost := 0
		for _, m := range turn {
			cost += estimateMessage(m)
		}
		if maxMessages >= 0 && count+len(turn) > maxMessages || maxTokens >= 0 && tokens+cost > maxTokens {
			break
		}
		first, count, tokens = first-1, count+len(turn), tokens+cost
	}
	kept := turns[first:]
	for len(kept) > 0 && (len(kept[0]) == 0 || kept[0][0].Role != RoleUser) {
		count -= len(kept[0])
		kept = kept[1:]
	}
	if count == 0 {
		return nil
	}
	out := make([]Message, 0, count)
	for _, turn := range kept {
		out = append(out, turn...)
	}
	return out
}

// perMessage is what an API adds around one message: its role and separators.
const perMessage = 4

func estimateMessage(m Message) int {
	n := perMessage + EstimateTokens(m.Text)
	for _, c := range m.Calls {
		n += perMessage + EstimateTokens(c.Name) + EstimateTokens(c.Args)
	}
	for _, r := range m.Results {
		n += perMessage + EstimateTokens(r.Content)
	}
	return n
}

// JoinAdjacent makes roles alternate for APIs that demand it: neighbours of
// one role become one message, their texts joined by a line break, their calls
// and results one after the other. Opaque is kept where only one of them has
// it, since two can't be sent as one; From is the later's. The input isn't
// changed.
func JoinAdjacent(messages []Message) []Message {
	out := make([]Message, 0, len(messages))
	for _, m := range messages {
		if len(out) == 0 || out[len(out)-1].Role != m.Role {
			out = append(out, m)
			continue
		}
		last := &out[len(out)-1]
		last.Text = joinText(last.Text, m.Text)
		last.Calls = append(slices.Clip(last.Calls), m.Calls...)
		last.Results = append(slices.Clip(last.Results), m.Results...)
		switch {
		case len(last.Opaque) == 0:
			last.Opaque = m.Opaque
		case len(m.Opaque) > 0:
			last.Opaque = nil
		}
		last.From = m.From
	}
	return out
}

func joinText(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return strings.Join([]string{a, b}, "\n")
	}
}
