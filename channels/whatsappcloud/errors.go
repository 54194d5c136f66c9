package whatsappcloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/parley-bot/parley/channels"
)

// maxCause bounds what is told of the platform's own words, in bytes.
const maxCause = 400

// codeWindow is Meta's code for a chat whose 24-hour window is closed.
const codeWindow = "131047"

// apiError is an error as the Graph API and the statuses write it.
type apiError struct {
	Code    int    `json:"code"`
	Subcode int    `json:"error_subcode"`
	Title   string `json:"title"`
	Message string `json:"message"`
	Data    struct {
		Details string `json:"details"`
	} `json:"error_data"`
	// Type and Trace are in every error that answers a call, and in none of
	// another program's.
	Type  string `json:"type"`
	Trace string `json:"fbtrace_id"`
}

func readError(raw json.RawMessage) apiError {
	var e apiError
	if json.Unmarshal(raw, &e) != nil {
		return apiError{Message: "unreadable error"}
	}
	return e
}

// classOf is the class of Meta's codes (Cloud API, error codes); "" for those
// that aren't in the table.
func classOf(code int) channels.SendClass {
	switch code {
	case 4, 80007, 130429, 131048, 131056, 133016:
		return channels.RateLimited
	case 1, 2, 131000, 131016, 131057, 133004, 135000:
		return channels.Temporary
	case 3, 10, 190, 368, 131005, 131031, 131037, 131042, 131045, 133010:
		return channels.PermanentToken
	case 130403, 130472, 130497, 131021, 131026, 131030, 131049, 131050, 131062, 137000:
		return channels.PermanentChat
	case 33, 100, 131008, 131009, 131047, 131051, 131052, 131053,
		132000, 132001, 132005, 132007, 132012, 132015, 132016, 132018:
		return channels.PermanentMessage
	}
	if code >= 200 && code <= 299 {
		return channels.PermanentToken
	}
	return ""
}

// hint says what to do about the codes that operators meet.
func hint(e apiError) string {
	switch e.Code {
	case 131047:
		return "24 hours have passed since the person's last message: only a template can be sent (see template)"
	case 190:
		return "the access token is expired or revoked: use that of a system user"
	case 10, 200:
		return "the access token lacks whatsapp_business_messaging, or the number isn't assigned to its user"
	case 131030:
		return "the app is in development: add the person to its test numbers"
	case 131042:
		return "the business account has no valid payment method"
	case 100:
		if e.Subcode == 33 {
			return "there is no such number for this token: is phone_number_id right?"
		}
	}
	return ""
}

// refusal is a call that the platform answered with an error; status 0 is for
// an error that came later.
func (g *graph) refusal(status int, after time.Duration, e apiError) *channels.SendError {
	class := classOf(e.Code)
	switch {
	case status != 0 && (e.Code == 0 || e.Type == "" && e.Trace == ""):
		class = channels.ForeignClass(status)
	case class == "":
		class = channels.StatusClass(status)
	}
	if class != channels.RateLimited {
		after = 0
	}
	code := ""
	if e.Code != 0 {
		code = strconv.Itoa(e.Code)
	}
	return &channels.SendError{Class: class, After: after, Code: code, Err: errors.New(g.clean(e))}
}

// clean is the error's text, without credentials should it quote one.
func (g *graph) clean(e apiError) string {
	text := e.Message
	if text == "" {
		text = e.Title
	}
	if d := e.Data.Details; d != "" && d != text {
		text += ": " + d
	}
	if h := hint(e); h != "" {
		text = h + " (" + text + ")"
	}
	if e.Subcode != 0 {
		text += fmt.Sprintf(" [subcode %d]", e.Subcode)
	}
	return channels.Shorten(channels.Redact(text, g.secrets...), maxCause)
}
