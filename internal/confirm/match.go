package confirm

import (
	"time"

	"github.com/parley-bot/parley/channels"
)

// Attempt is something a person did that may answer a question.
type Attempt struct {
	// Lane is where the message would be queued if it answers nothing.
	Lane string
	From channels.UserID
	// Text and Class are of a typed message.
	Text  string
	Class Class
	// ReplyTo is the message that the text answers to, or "".
	ReplyTo channels.MessageID
	// Routed is true where the text would be worked on if it answers
	// nothing (in a group: the bot was addressed).
	Routed bool
	At     time.Time
	// Written is when it was written, on the platform's own clock; zero where
	// it has none.
	Written time.Time
}

// MatchText finds the question that a typed text answers and how, by B3, B4,
// B12 and B27. waits are the pending ones of the chat; ok is false where the
// text answers none of them and goes the usual way.
//
// Alone with the bot every text answers. Among others, a text of the requester
// answers when it is a clear yes or no, or a reply to the question's message;
// anybody else's only as a reply. Where several questions match, only a reply
// tells which is meant.
func MatchText(waits []Saved, a Attempt) (w Saved, ans Answer, ok bool) {
	var found []Saved
	for _, w := range waits {
		if w.State != Pending || !a.At.Before(w.Expires) || !w.AnswerBy.Allows(a.From, w.Requester) {
			continue
		}
		switch {
		case a.ReplyTo != "" && w.MessageID == a.ReplyTo:
			return w, typed(w, a), true
		case w.Solo && w.Lane == a.Lane:
			found = append(found, w)
		case !w.Solo && a.From == w.Requester && !seen(w, a) && a.Routed && w.Lane == a.Lane:
			found = append(found, w)
		case !w.Solo && a.From == w.Requester && a.Class != Other && seen(w, a):
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		return Saved{}, Answer{}, false
	}
	return found[0], typed(found[0], a), true
}

// seen tells whether whoever wrote the text can have seen the question (B27).
// What comes after it may be days old: platforms deliver again what was not
// acknowledged. Only the platform's clock is compared, and only with itself;
// on some it has whole seconds. A reply to the question's message is proof.
func seen(w Saved, a Attempt) bool {
	switch {
	case w.Delivered.IsZero():
		return false
	case a.ReplyTo != "" && a.ReplyTo == w.MessageID:
		return true
	default:
		return a.Written.IsZero() || !a.Written.Before(w.Said)
	}
}

// typed reads a text as an answer. One of somebody who can't have seen the
// question is neither a yes nor a no: it can't have been meant as one (B27).
func typed(w Saved, a Attempt) Answer {
	ans := Answer{Outcome: Replied, Reply: a.Text, By: a.From, At: a.At, Written: a.Written}
	if !seen(w, a) {
		return ans
	}
	switch a.Class {
	case Yes:
		ans.Outcome, ans.Reply = Approved, ""
	case No:
		ans.Outcome, ans.Reply = Denied, ""
	case Other: // a reply
	}
	return ans
}

// MatchPress decides on a press of the button that gives value. A press proves
// that the question was seen, delivered or not. again is true where this very
// press (the same callback id) was taken before and the platform delivers it
// once more, having lost our acknowledgement: it gets the same outcome.
func MatchPress(w Saved, value string, from channels.UserID, at time.Time, again bool) (Answer, channels.PressOutcome) {
	ans := Answer{Outcome: Denied, By: from, Press: true, At: at}
	if value == ValueYes {
		ans.Outcome = Approved
	}
	switch {
	case again && w.State == Answered && w.Answer.By == from && w.Answer.Press && w.Answer.Outcome == ans.Outcome:
		return ans, channels.PressAccepted
	case w.State != Pending || !at.Before(w.Expires):
		return ans, channels.PressStale
	case !w.AnswerBy.Allows(from, w.Requester):
		return ans, channels.PressNotYours
	}
	return ans, channels.PressAccepted
}
