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

// lost is a call without an answer that can be read; sent is true where
// Telegram may have got it.
func lost(sent bool, err error) *channels.LostError {
	return &channels.LostError{API: "telegram", Sent: sent, Err: err}
}

// errNonsense is an answer of another form than the Bot API's.
var errNonsense = errors.New("answer makes no sense")

// sendError tells the class of a failed call. Whatever the library fails at
// by itself comes after the request has left.
func (c *client) sendError(err error) *channels.SendError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return &channels.SendError{Class: e.class(), After: e.after, Code: strconv.Itoa(e.code), Err: e}
	}
	if e, ok := errors.AsType[*channels.LostError](err); ok {
		return &channels.SendError{Class: e.Class(), Err: e}
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text names types of Go
		err = lost(true, errNonsense)
	}
	return &channels.SendError{Class: channels.Unknown, Err: c.scrub(err)}
}

func (e *apiError) class() channels.SendClass {
	switch {
	case !e.bot:
		return channels.ForeignClass(e.code)
	case e.code == http.StatusTooManyRequests:
		return channels.RateLimited
	case e.code == http.StatusUnauthorized, e.code == http.StatusNotFound:
		return channels.PermanentToken
	case e.code == http.StatusBadGateway, e.code == http.StatusGatewayTimeout:
		return channels.Unknown // what stands before the API gave up waiting; the call may go on
	case e.code >= 500, e.code < 400, e.code == http.StatusConflict:
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

// tokenRefused notes that a person has to mend the token, and names what to do.
func (a *Adapter) tokenRefused(err error) error {
	err = fmt.Errorf("telegram refuses the bot's token; check channels.%s.token (and api_url): %w", a.name, err)
	a.link.Set(channels.LinkRefused, err.Error())
	return err
}
