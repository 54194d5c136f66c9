package twilio

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/twilio/twilio-go/client"

	"github.com/parley-bot/parley/channels"
)

// classOf is the class of Twilio's codes (twilio.com/docs/api/errors), those of
// calls and those of reports; "" for those that aren't in the table.
func classOf(code int) channels.SendClass {
	switch code {
	case 20429, 14107, 30022, 63018:
		return channels.RateLimited
	case 20500, 20503, 20504, 30001, 30008, 30017, 30018:
		return channels.Temporary
	case 20003, 20005, 20006, 20008, 20403, 21222, 21224, 21660, 30002, 63007:
		return channels.PermanentToken
	case 21211, 21214, 21217, 21265, 21408, 21610, 21612, 21614, 21635, 30003, 30004, 30005, 30006, 63003, 63015, 63024:
		return channels.PermanentChat
	case 21602, 21603, 21604, 21605, 21606, 21609, 21617, 21619, 21620, 21655, 21656, 21658, 30007, 30019, 30034, 63005, 63013, 63016, 63021, 63027, 63028:
		return channels.PermanentMessage
	}
	return ""
}

// hint says what to do about the codes that operators meet.
func hint(code int) string {
	switch code {
	case 20003:
		return "account_sid and auth_token don't belong together, or the token was changed"
	case 21222, 21224:
		return "account_sid and auth_token may hold letters and digits only"
	case 21606, 21603, 21660, 63007:
		return "from is no sender of this account; a WhatsApp sender is written whatsapp:+…"
	case 21211, 63024:
		return "that is no address that can be written to"
	case 21610:
		return "the person has written STOP: nothing may be sent until they write START"
	case 21408:
		return "sending to that country is off (Messaging, Settings, Geo permissions)"
	case 30007:
		return "filtered by Twilio or a carrier"
	case 30034:
		return "the number isn't registered for application-to-person messages (A2P 10DLC)"
	case 63015:
		return "the person hasn't joined the sandbox"
	case 63016:
		return "24 hours have passed since the person's last message: only a template can be sent"
	case 21609:
		return "server.public_url can't be reached by Twilio"
	}
	return ""
}

// isContent tells whether the code is about the quick-reply template.
func isContent(code int) bool {
	switch code {
	case 21655, 21656, 21658, 63005, 63013, 63021, 63027, 63028:
		return true
	}
	return false
}

// refusal is a call that was answered with an error; status 0 is for an error
// that came later.
func refusal(status int, after time.Duration, code int, message string) *channels.SendError {
	class := classOf(code)
	if class == "" {
		class = classOfStatus(status, code != 0)
	}
	if class != channels.RateLimited {
		after = 0
	}
	text := message
	if h := hint(code); h != "" {
		text = h + " (" + message + ")"
	}
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	e := &channels.SendError{Class: class, After: after, Err: errors.New(text)}
	if code != 0 {
		e.Code = strconv.Itoa(code)
	}
	return e
}

func classOfStatus(status int, coded bool) channels.SendClass {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return channels.PermanentToken
	case status == http.StatusTooManyRequests:
		return channels.RateLimited
	case status == http.StatusServiceUnavailable, status >= 300 && status < 400, status >= 500 && coded:
		return channels.Temporary
	case status >= 500:
		return channels.Unknown
	default:
		return channels.PermanentMessage
	}
}

// failure is what came of a call that the SDK gave an error for.
func (a *Adapter) failure(c *call, err error) *channels.SendError {
	if re, ok := errors.AsType[*client.TwilioRestError](err); ok && (re.Code != 0 || c.status != 0) {
		message := re.Message
		if message == "" {
			message = "no reason was given"
		}
		// Details and links are left out; a credential that is quoted too.
		return refusal(c.status, c.after, re.Code, strings.ReplaceAll(message, a.cfg.AuthToken.Reveal(), "***"))
	}
	switch {
	case c.status >= 300: // an answer that isn't Twilio's
		return refusal(c.status, c.after, 0, "status "+strconv.Itoa(c.status)+" without an error code")
	case c.status != 0:
		return &channels.SendError{Class: channels.Unknown, Err: errors.New("an answer that makes no sense")}
	}
	// The address is left out: it names the account.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	class := channels.Temporary
	if c.left.Load() {
		class = channels.Unknown
	}
	return &channels.SendError{Class: class, Err: err}
}
