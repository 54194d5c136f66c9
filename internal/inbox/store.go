package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
)

// Store is what accepting a message needs. Each call is one commit.
type Store interface {
	// Accept is T0 and T0′: it drops a known message, lets it answer a
	// pending question, or queues it. A *channels.RefusedError means that
	// nothing was kept, the message's identity included.
	Accept(ctx context.Context, d Delivery) (Accepted, error)
	// Command carries out a chat command: dropped if known, otherwise its
	// effect and its answer are one commit (behaviour B5 for reset).
	Command(ctx context.Context, c Command) (Accepted, error)
	// Language is the language that /lang set for the lane, or "".
	Language(ctx context.Context, lane string) (string, error)
	// LetIn tells whether a person who isn't listed was let in.
	LetIn(ctx context.Context, channel string, user channels.UserID) (bool, error)
	// Knock gives such a person a code, unless they have a good one or too
	// many people do: the outcome is Told, Ignored or Duplicate.
	Knock(ctx context.Context, k Knock) (Accepted, error)
	// DeliveryFailed marks a message that the platform took as one that did
	// not arrive, and cancels the turn whose question it asked. known is
	// false where there is no such message, or that was marked before.
	DeliveryFailed(ctx context.Context, u Undelivered) (acc Accepted, known bool, err error)
}

// Undelivered is a message that a platform took and could not deliver: the
// entry of the outbox that Key names, else the one of the chat whose platform
// id is ID.
type Undelivered struct {
	Channel string // instance name
	ChatKey string
	ID      channels.MessageID
	Key     string
	Cause   string // for operators
}

// ErrUnavailable is wrapped by the store's errors while it can't be written:
// disk full, read-only, too busy.
var ErrUnavailable = errors.New("the store can't be written now")

// Place says where a message belongs.
type Place struct {
	Channel string // instance name
	// Lane is {channel}:{chat} and :{thread or user} where the session is
	// narrower than the chat.
	Lane string
	// ChatKey is {channel}:{chat}: the unit of the outbox and of the log.
	ChatKey string
	Chat    channels.Chat
}

// Delivery is one message or press on its way into the store.
type Delivery struct {
	Place Place
	// DedupeKey is channel:account:chat:kind:platform id.
	DedupeKey string
	In        channels.Inbound
	// Answers is true where the text may answer a question: a new text or
	// caption that is no command. Class is then its class.
	Answers bool
	Class   confirm.Class
	// Routed is false where the bot wasn't addressed: the message may
	// answer a question but is otherwise only remembered as known.
	Routed bool
	// QueueMax is limits.queue_per_chat; 0 is no limit.
	QueueMax int
	// Refuse is true where the channel can refuse what is over a limit.
	Refuse bool
	// OverRate is true past limits.per_user: only an answer is taken.
	OverRate bool
	// RateNotice and QueueNotice are said once instead of working on the
	// message; RateNotice is empty where the window's notice was given.
	RateNotice  []channels.Part
	QueueNotice []channels.Part
}

// Outcome is what became of a delivery, also the metric's label.
type Outcome string

// The outcomes.
const (
	Queued    Outcome = "queued"
	Duplicate Outcome = "duplicate"
	// AnsweredQuestion: it answered a pending question.
	AnsweredQuestion Outcome = "answered"
	// Stale and NotYours are presses that changed nothing.
	Stale    Outcome = "stale"
	NotYours Outcome = "not_yours"
	// OverQueue and OverRate were taken but won't be worked on.
	OverQueue Outcome = "over_queue"
	OverRate  Outcome = "over_rate"
	// Ignored: not addressed to the bot.
	Ignored Outcome = "ignored"
	// Commanded: a chat command was carried out.
	Commanded Outcome = "command"
)

// Accepted is what a commit did.
type Accepted struct {
	Outcome Outcome
	// Wake is true where Lane has work now.
	Wake bool
	// Lane is the lane that Wake and Cut are about: the message's own, or
	// that of the question it answered.
	Lane string
	// Speak is true where the chat's outbox has something to send now.
	Speak bool
	// Logged is true where the chat's log grew.
	Logged bool
	// Cut is true where the turn that runs on Lane, if any, was ended
	// by this: whoever runs it must stop.
	Cut bool
	// Resolved tells of the question that ended, for metrics.
	Resolved *Resolved
	// Did is false where a command found nothing to do (/cancel).
	Did bool
}

// Resolved is a question that ended, for metrics.
type Resolved struct {
	Tool    string
	Outcome string // approved, denied, replied, cancelled, expired, superseded
	Waited  time.Duration
}

// Action is what a chat command does to the store.
type Action string

// The actions.
const (
	// ActSay only answers (/help, /start).
	ActSay Action = "say"
	// ActReset is /reset.
	ActReset Action = "reset"
	// ActCancel ends the turn and the question of the lane, keeping the
	// history.
	ActCancel Action = "cancel"
	// ActLang sets the lane's language.
	ActLang Action = "lang"
)

// Command is a chat command on its way into the store.
type Command struct {
	Place     Place
	DedupeKey string
	In        channels.Inbound
	Action    Action
	Lang      string // ActLang
	// Say is the answer; SayNothing replaces it where there was nothing to
	// do (ActCancel).
	Say        []channels.Part
	SayNothing []channels.Part
	// SayBegun is the answer where a call was under way that may have taken
	// effect (ActReset, ActCancel): title is its tool's. It is called within
	// the commit, perhaps more than once; nil: Say.
	SayBegun func(title string) []channels.Part
}
