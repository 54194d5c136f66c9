package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// apiError is a call that was answered with an error.
type apiError struct {
	code        int
	description string
	after       time.Duration
	// movedTo is the supergroup that the group became, or 0.
	movedTo int64
	// bot is false where the answer isn't the Bot API's, but a proxy's.
	bot bool
}

func (e *apiError) Error() string {
	return fmt.Sprintf("telegram answered %d: %s", e.code, e.description)
}

// says tells whether the description holds text, in whatever case.
func (e *apiError) says(text string) bool {
	return strings.Contains(strings.ToLower(e.description), strings.ToLower(text))
}

// lostError is a call without an answer that can be read.
type lostError struct {
	// sent is true where the platform may have got the request.
	sent bool
	err  error
}

func (e *lostError) Error() string {
	if e.sent {
		return "telegram gave no answer: " + e.err.Error()
	}
	return "telegram was not reached: " + e.err.Error()
}

func (e *lostError) Unwrap() error { return e.err }

// errNonsense is an answer of another form than the Bot API's.
var errNonsense = errors.New("answer makes no sense")

// sendError tells the class of a failed call. Whatever the library fails at
// by itself comes after the request has left.
func (c *client) sendError(err error) *channels.SendError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return &channels.SendError{Class: e.class(), After: e.after, Code: strconv.Itoa(e.code), Err: e}
	}
	if e, ok := errors.AsType[*lostError](err); ok {
		if e.sent {
			return &channels.SendError{Class: channels.Unknown, Err: e}
		}
		return &channels.SendError{Class: channels.Temporary, Err: e}
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text names types of Go
		err = &lostError{sent: true, err: errNonsense}
	}
	return &channels.SendError{Class: channels.Unknown, Err: c.scrub(err)}
}

func (e *apiError) class() channels.SendClass {
	switch {
	case e.code == http.StatusTooManyRequests:
		return channels.RateLimited
	case e.code == http.StatusUnauthorized, e.code == http.StatusNotFound:
		return channels.PermanentToken
	case e.code == http.StatusGatewayTimeout:
		return channels.Unknown // a proxy gave up waiting; the call goes on
	case !e.bot && e.code == http.StatusRequestEntityTooLarge:
		return channels.PermanentMessage
	case !e.bot, e.code >= 500, e.code < 400, e.code == http.StatusConflict:
		return channels.Temporary
	case e.movedTo != 0:
		return channels.Temporary // the next attempt goes to the new chat
	case e.code == http.StatusForbidden:
		return channels.PermanentChat
	}
	if slices.ContainsFunc([]string{
		"chat not found", "user not found", "PEER_ID_INVALID", "group chat was deactivated", "chat was deleted",
		"CHAT_WRITE_FORBIDDEN", "CHAT_RESTRICTED", "have no rights to send", "not enough rights to send", "need administrator rights",
		"USER_IS_BLOCKED", "USER_DEACTIVATED", "USER_IS_BOT",
	}, e.says) {
		return channels.PermanentChat
	}
	return channels.PermanentMessage
}

// refusedToken tells whether the account's credentials are refused.
func refusedToken(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.class() == channels.PermanentToken
}

// tokenError names what to do.
func (a *Adapter) tokenError(err error) error {
	return fmt.Errorf("telegram refuses the bot's token; check channels.%s.token (and api_url): %w", a.name, err)
}

// clip is s cut to most bytes, not within a rune.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
