package whatsappweb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/parley-bot/parley/channels"
)

const (
	// outdatedWait is how long to leave a server that refuses this version.
	outdatedWait = time.Hour
	// banWait is how long to leave a ban that doesn't say how long it lasts.
	banWait = time.Hour
)

// errCAT is for a login that is refused for the lack of a token that belongs to
// accounts of Messenger.
var errCAT = errors.New("413 or 414: it wants a token that a linked device doesn't have")

// verdict tells what an event of the SDK means for the connection; over is
// false for those that don't end it.
func verdict(evt any, now time.Time) (e ending, over bool) {
	state := func(s channels.LinkState, format string, args ...any) ending {
		return ending{link: channels.Link{State: s, Detail: fmt.Sprintf(format, args...)}}
	}
	switch v := evt.(type) {
	case *events.Disconnected:
		e = state(channels.LinkConnecting, "the connection was lost")
		e.lost = true
		return e, true
	case *events.KeepAliveTimeout:
		e = state(channels.LinkConnecting, "the server doesn't answer any more")
		e.silent = true
		return e, true
	case *events.ManualLoginReconnect:
		e = state(channels.LinkConnecting, "the server asked to connect again")
		e.now = true
		return e, true
	case *events.StreamError:
		return state(channels.LinkConnecting, "the server ended the stream with code %s", v.Code), true
	case *events.LoggedOut:
		e = state(channels.LinkLoggedOut, "the device was unlinked (%s): link it again by parley pair", reason(v))
		if v.OnConnect && v.Reason == events.ConnectFailureUnknownLogout {
			e = state(channels.LinkBanned, "the account is banned from WhatsApp (%d): look into the app on the phone", v.Reason)
		}
		e.gone = true
		return e, true
	case *events.StreamReplaced:
		return state(channels.LinkReplaced, "another program connected with the same session: is it copied to, or running at, another place?"), true
	case *events.TemporaryBan:
		e = state(channels.LinkBanned, "the account is banned for a while (%s)", v.Code)
		e.wait = banWait
		if v.Expire > 0 {
			e.link.Until, e.wait = now.Add(v.Expire), v.Expire+time.Second
		}
		return e, true
	case *events.ClientOutdated:
		e = state(channels.LinkOutdated, "WhatsApp refuses this version of its client: parley needs an update")
		e.wait = outdatedWait
		return e, true
	case *events.CATRefreshError:
		return state(channels.LinkConnecting, "the server refused the login (%s)", v.Error), true
	case *events.ConnectFailure:
		return state(channels.LinkConnecting, "the server refused the login (%s)", v.Reason), true
	}
	return ending{}, false
}

func reason(v *events.LoggedOut) string {
	switch {
	case !v.OnConnect:
		return "removed on the phone"
	case v.Reason == events.ConnectFailureMainDeviceGone:
		return "403: the phone's own account was locked, or moved"
	}
	return v.Reason.String()
}

// codes of the server's answer to a message.
const (
	ackRateLimit  = 429
	ackNoToken    = 463 // it wants proof that the person knows the account
	ackBadStanza  = 479
	ackNotAllowed = 405
)

// sendError is the class of a message that failed. What fails before the
// message itself has left (the lookup of devices and keys) was certainly not
// sent.
func sendError(err error) *channels.SendError {
	se := &channels.SendError{Class: channels.Unknown, Err: err}
	var lost *whatsmeow.DisconnectedError
	var iq *whatsmeow.IQError
	code, refused := ackCode(err)
	switch {
	case refused:
		se.Class, se.Code = classOfAck(code), strconv.Itoa(code)
		if code == ackNoToken {
			se.Err = fmt.Errorf("WhatsApp doesn't let this account write to people who haven't written first: %w", err)
		}
	case errors.Is(err, whatsmeow.ErrMessageTimedOut):
	case errors.As(err, &lost) && strings.HasPrefix(lost.Action, "message send"):
	case errors.As(err, &iq):
		se.Class, se.Code = classOfQuery(iq.Code), strconv.Itoa(iq.Code)
	case errors.Is(err, errNoKeys), errors.Is(err, whatsmeow.ErrNotConnected), errors.Is(err, whatsmeow.ErrNotLoggedIn), errors.Is(err, whatsmeow.ErrIQTimedOut), errors.As(err, &lost):
		se.Class = channels.Temporary
	case strings.Contains(err.Error(), "no LID found for"):
		se.Class, se.Err = channels.PermanentChat, fmt.Errorf("this number isn't on WhatsApp: %w", err)
	case errors.Is(err, whatsmeow.ErrRecipientADJID), errors.Is(err, whatsmeow.ErrUnknownServer):
		se.Class = channels.PermanentChat
	}
	return se
}

// ackCode is the server's own code, out of "server returned error N".
func ackCode(err error) (int, bool) {
	if !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		return 0, false
	}
	text := err.Error()
	code, cerr := strconv.Atoi(text[strings.LastIndexByte(text, ' ')+1:])
	return code, cerr == nil
}

func classOfAck(code int) channels.SendClass {
	switch {
	case code == ackRateLimit:
		return channels.RateLimited
	case code == ackNoToken, code == 401, code == 403, code == 404:
		return channels.PermanentChat
	case code == ackBadStanza, code == ackNotAllowed:
		return channels.PermanentMessage
	case code >= 500:
		return channels.Temporary
	}
	return channels.PermanentMessage
}

// classOfQuery is for what is asked before a message is sent.
func classOfQuery(code int) channels.SendClass {
	switch code {
	case 429:
		return channels.RateLimited
	case 401, 403, 404, 410:
		return channels.PermanentChat
	}
	return channels.Temporary
}

// briefly is an error of the connection in few words, without the address.
func briefly(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "no answer within " + dialTime.String()
	case errors.Is(err, whatsmeow.ErrNotConnected):
		return "not connected"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	text := err.Error()
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return text
}

// masked is a phone number that a log may have.
func masked(phone string) string {
	if len(phone) < 6 {
		return phone
	}
	return phone[:3] + strings.Repeat("*", len(phone)-5) + phone[len(phone)-2:]
}
