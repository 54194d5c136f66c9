package discord

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Discord's error codes that something is done about
// (https://docs.discord.com/developers/topics/opcodes-and-status-codes#json).
const (
	firstCode = 10000 // but for 0, which says nothing

	codeUnknownChannel     = 10003
	codeUnknownGuild       = 10004
	codeUnknownUser        = 10013
	codeUnknownWebhook     = 10015
	codeUnknownInteraction = 10062
	codeCantReply          = 160002 // for want of the permission to read the history
	codeThreadLocked       = 160005
	codeOverloaded         = 130000
	codeSendsOff           = 40004
	codeFirewall           = 40333
	codeSlowmode           = 20016
	codeChannelRate        = 20028
	codeAcknowledged       = 40060
	codeMissingAccess      = 50001
	codeCannotDM           = 50007
	codeNoText             = 50008
	codeMissingPermissions = 50013
	codeInvalidToken       = 50014
	codeWebhookToken       = 50027
	codeNoMutualGuild      = 50278
	codeTooManyEdits       = 30046
)

// apiError is a call that was answered with an error.
type apiError struct {
	status, code int
	message      string
	after        time.Duration
	// discord is false where the answer isn't the API's, but a proxy's.
	discord bool
	// global is that it concerns all calls, and again that it was remembered
	// from an earlier one.
	global, again bool
}

func (e *apiError) Error() string {
	text := fmt.Sprintf("discord answered %d", e.status)
	if e.code != 0 {
		text += fmt.Sprintf(" (code %d)", e.code)
	}
	text += ": " + e.message
	if e.again {
		text += " (some minutes ago: it isn't asked again so soon)"
	}
	return text
}

// lost is a call without an answer that can be read; sent is true where
// Discord may have got it.
func lost(sent bool, err error) *channels.LostError {
	return &channels.LostError{API: "discord", Sent: sent, Err: err}
}

// refusedError is what only a person can mend: a token, an intent.
type refusedError struct {
	// say is what to do.
	say string
	err error
}

func (e *refusedError) Error() string { return e.say + ": " + e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// sendError tells the class of a failed call.
func sendError(err error) *channels.SendError {
	if e, ok := errors.AsType[*apiError](err); ok {
		code := e.status
		if e.code != 0 {
			code = e.code
		}
		return &channels.SendError{Class: e.class(), After: e.after, Code: strconv.Itoa(code), Err: e}
	}
	if e, ok := errors.AsType[*channels.LostError](err); ok {
		return &channels.SendError{Class: e.Class(), Err: e}
	}
	return &channels.SendError{Class: channels.Unknown, Err: err}
}

func (e *apiError) class() channels.SendClass {
	switch e.code {
	case codeSlowmode, codeChannelRate, codeTooManyEdits:
		return channels.RateLimited
	case codeInvalidToken:
		return channels.PermanentToken
	case codeUnknownInteraction, codeAcknowledged, codeUnknownWebhook, codeWebhookToken:
		return channels.PermanentMessage // 401 is the interaction's token, and not the bot's
	case codeOverloaded, codeSendsOff, codeFirewall, codeCantReply:
		return channels.Temporary
	case codeThreadLocked, codeUnknownChannel, codeUnknownGuild, codeUnknownUser, codeMissingAccess, codeMissingPermissions, codeCannotDM, codeNoText, codeNoMutualGuild:
		return channels.PermanentChat
	}
	switch {
	case e.status == http.StatusTooManyRequests:
		return channels.RateLimited
	case !e.discord:
		return channels.ForeignClass(e.status)
	case e.status == http.StatusUnauthorized:
		return channels.PermanentToken
	case e.status == http.StatusBadGateway, e.status == http.StatusGatewayTimeout:
		return channels.Unknown // what stands before the API gave up waiting; the call may go on
	case e.status == http.StatusRequestEntityTooLarge, e.status == http.StatusBadRequest:
		return channels.PermanentMessage // with a code or without
	case e.status >= 500, e.status < 400, e.code == 0:
		return channels.Temporary
	}
	return channels.PermanentMessage
}

// refusedToken tells whether the bot's credentials are refused.
func refusedToken(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.class() == channels.PermanentToken
}

// over tells whether an interaction can't be answered any more, or has been.
func over(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	switch e.code {
	case codeUnknownInteraction, codeAcknowledged, codeUnknownWebhook, codeWebhookToken:
		return true
	}
	return false
}

// tokenError names what to do.
func (a *Adapter) tokenError(err error) error {
	return &refusedError{fmt.Sprintf("discord refuses the bot's token; get a new one in the developer portal (Bot, Reset Token) for channels.%s.token", a.name), err}
}

// intentError likewise.
func (a *Adapter) intentError(err error) error {
	return &refusedError{fmt.Sprintf("discord refuses the message content intent; turn it on in the developer portal (Bot, Privileged Gateway Intents), or set channels.%s.message_content to false", a.name), err}
}
