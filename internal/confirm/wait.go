package confirm

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Wait is a question to a person, as it is saved. Exactly one commit takes it
// from pending to one of the other states.
type Wait struct {
	// Token is 96 random bits; the buttons' ids are made of it.
	Token string `json:"token"`
	Lane  string `json:"lane"`
	// ChatKey is {channel}:{chat}: presses and typed answers are looked up by
	// chat, not by lane.
	ChatKey string        `json:"chat_key"`
	Chat    channels.Chat `json:"chat"`
	Turn    string        `json:"turn"`
	CallID  string        `json:"call_id"`
	Step    int           `json:"step"`
	Tool    string        `json:"tool"`

	// Requester is who the turn belongs to.
	Requester channels.UserID `json:"requester"`
	// AnswerBy says who may answer.
	AnswerBy AnswerBy `json:"answer_by"`
	// Solo is true in private chats and sessions of one person.
	Solo bool `json:"solo"`

	// Digest fixes what was approved: tool, arguments, question (B28).
	Digest string `json:"digest"`
	// Timeout runs from the moment the question was delivered.
	Timeout time.Duration `json:"timeout"`
	// Said is when the newest message that the turn had taken was written, on
	// the platform's own clock: what was written before that was written
	// before the question was. Zero: nobody knows.
	Said time.Time `json:"said,omitzero"`

	// Closing is how the sent question is edited once it is over; nil where
	// the channel can't edit or the question has no buttons.
	Closing *Closing `json:"closing,omitempty"`
	// Answered is said when a press answers, where confirm.answered_notice
	// asks for it; by value. Nil: nothing is said.
	Answered map[string]channels.Part `json:"answered,omitempty"`
	// Expired is said when a press comes too late (B23); nil: nothing.
	Expired *channels.Part `json:"expired,omitempty"`
}

// Closing is what a question is edited to, without its buttons.
type Closing struct {
	Text string `json:"text"` // of the last part, as it was sent
	// Markup is the dialect of Text and of Choice.
	Markup channels.Markup `json:"markup,omitempty"`
	// Plain is Text without markup; "" where it has none.
	Plain string `json:"plain,omitempty"`
	// Choice is appended by value: "→ Yes".
	Choice map[string]string `json:"choice"`
}

// Values of an answer.
const (
	ValueYes = "yes"
	ValueNo  = "no"
)

// ButtonID makes the id of the button that gives value.
func ButtonID(token, value string) channels.ButtonID {
	return channels.ButtonID(token + "." + value[:1])
}

// ParseButton is the reverse of ButtonID. ok is false for ids not made by it.
func ParseButton(id channels.ButtonID) (token, value string, ok bool) {
	n := len(id)
	if n < 3 || id[n-2] != '.' {
		return "", "", false
	}
	switch id[n-1] {
	case 'y':
		return string(id[:n-2]), ValueYes, true
	case 'n':
		return string(id[:n-2]), ValueNo, true
	default:
		return "", "", false
	}
}

// AnswerBy says who may answer a question (behaviour B12).
type AnswerBy struct {
	// Anyone lets everybody in the chat answer.
	Anyone bool `json:"anyone,omitempty"`
	// Users, where not empty, are the only ones who may.
	Users []channels.UserID `json:"users,omitempty"`
}

// Allows tells whether user may answer a question of requester's.
func (a AnswerBy) Allows(user, requester channels.UserID) bool {
	if a.Anyone {
		return true
	}
	if len(a.Users) > 0 {
		return slices.Contains(a.Users, user)
	}
	return user == requester
}

// State is where a wait has got to.
type State string

// The states. All but Pending are final.
const (
	Pending    State = "pending"
	Answered   State = "answered"
	Expired    State = "expired"
	Superseded State = "superseded"
)

// Outcome is what an answer means to the turn.
type Outcome string

// The outcomes.
const (
	Approved  Outcome = "approved"
	Denied    Outcome = "denied"
	Replied   Outcome = "replied"
	Cancelled Outcome = "cancelled"
)

// Answer is how a wait ended.
type Answer struct {
	Outcome Outcome `json:"outcome"`
	// Reply is the person's text (Replied).
	Reply string `json:"reply,omitempty"`
	// By is who answered.
	By channels.UserID `json:"by,omitempty"`
	// Press is true where a button was pressed.
	Press bool      `json:"press,omitempty"`
	At    time.Time `json:"at"`
	// Written is when it was written, on the platform's own clock; zero where
	// it has none.
	Written time.Time `json:"written,omitzero"`
}

// Value is what the buttons call this answer, "" for a reply.
func (a Answer) Value() string {
	switch a.Outcome {
	case Approved:
		return ValueYes
	case Denied:
		return ValueNo
	default:
		return ""
	}
}

// ClosedText is the text that the question is edited to.
func (c Closing) ClosedText(value string) string { return c.with(c.Text, value) }

// ClosedPlain is the same without markup; "" where ClosedText has none.
func (c Closing) ClosedPlain(value string) string {
	if c.Plain == "" {
		return ""
	}
	return c.with(c.Plain, value)
}

func (c Closing) with(text, value string) string {
	if choice := c.Choice[value]; choice != "" {
		return text + "\n" + choice
	}
	return text
}

// Saved is a wait together with what the store knows of it.
type Saved struct {
	Wait
	State State
	// Delivered is when the question was certainly shown; zero before.
	Delivered time.Time
	// Expires is when it ends by itself.
	Expires time.Time
	Created time.Time
	// MessageID is the platform's id of the question's last part.
	MessageID channels.MessageID
	// Answer is set where State is Answered.
	Answer *Answer
}

// MarshalAnswer is the saved form of an answer.
func MarshalAnswer(a Answer) []byte {
	b, err := json.Marshal(a)
	if err != nil {
		// Strings, booleans and a time always marshal.
		panic(err)
	}
	return b
}
