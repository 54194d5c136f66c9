package twilio

import (
	"errors"
	"strconv"
	"time"

	"github.com/twilio/twilio-go/client"

	"github.com/parley-bot/parley/channels"
)

const (
	// maxCause bounds what is told of the platform's own words, in bytes.
	maxCause = 400
	// firstCode is the first of Twilio's codes. Others that answer in its place
	// repeat the status.
	firstCode = 10000
)

// classOf is the class of Twilio's codes (twilio.com/docs/api/errors), those of
// calls and those of reports; "" for those that aren't in the table.
func classOf(code int) channels.SendClass {
	switch code {
	case 20429, 14107, 30022, 63018:
		return channels.RateLimited
	case 20504:
		return channels.Unknown // it gave up waiting for itself
	case 20500, 20503, 30001, 30008, 30017, 30018:
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
	switch {
	case status != 0 && code < firstCode:
		class = channels.ForeignClass(status)
	case class == "":
		class = channels.StatusClass(status)
	}
	if class != channels.RateLimited {
		after = 0
	}
	text := message
	if h := hint(code); h != "" {
		text = h + " (" + message + ")"
	}
	e := &channels.SendError{Class: class, After: after, Err: errors.New(channels.Shorten(text, maxCause))}
	if code != 0 {
		e.Code = strconv.Itoa(code)
	}
	return e
}

// failure is what came of a call that the SDK gave an error for.
func (a *Adapter) failure(c *call, err error) *channels.SendError {
	if re, ok := errors.AsType[*client.TwilioRestError](err); ok && (re.Code != 0 || c.status != 0) {
		message := re.Message
		if message == "" {
			message = "no reason was given"
		}
		// Details and links are left out; a credential that is quoted too.
		return refusal(c.status, c.after, re.Code, channels.Redact(message, a.cfg.AuthToken.Reveal()))
	}
	switch {
	case c.status >= 300: // an answer that isn't Twilio's
		return refusal(c.status, c.after, 0, "status "+strconv.Itoa(c.status)+" without an error code")
	case c.status != 0:
		return &channels.SendError{Class: channels.Unknown, Err: errors.New("an answer that makes no sense")}
	}
	// The address is left out: it names the account.
	e := &channels.LostError{API: "twilio", Sent: c.left != nil && c.left.Load(), Err: channels.Scrub(err, a.cfg.AuthToken.Reveal())}
	return &channels.SendError{Class: e.Class(), Err: e}
}
