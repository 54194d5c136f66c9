package platforms

import (
	"strconv"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels"
)

// person is one of the people of a platform, from 1.
type person int

// stranger is a person whom allow doesn't name.
const stranger person = 99

// message is one of the bot's as a person sees it now.
type message struct {
	id, text string
	buttons  []button
}

type button struct{ id, label string }

// platform is a fake as its people see it. Its methods may be called from many
// goroutines; they report what goes wrong to the test.
type platform interface {
	// yaml is what the operator writes below channels, on one line. With
	// allow only these people may write.
	yaml(allow ...person) string
	// connect tells where the bot listens, after each start.
	connect(base string)
	// say writes, and delivers until the bot has it. again delivers the same
	// once more; it is nil where nothing is delivered twice.
	say(who person, text string) (again func())
	// press presses a button until the bot has it.
	press(who person, on message, b button)
	// shown are the bot's messages to a person, as they are now, oldest first.
	shown(who person) []message
	// caps is what the adapter says of the platform.
	caps() channels.Capabilities
	// calls are those that the bot made, and wrong what the fake found wrong
	// with them.
	calls() []call
	wrong() []string
}

// open are the platforms by name: a fake each, and what stands before it.
func open() map[string]func(t *testing.T) platform {
	return map[string]func(t *testing.T) platform{
		"telegram_polling": func(t *testing.T) platform { t.Helper(); return newTelegram(t, "polling") },
		"telegram_webhook": func(t *testing.T) platform { t.Helper(); return newTelegram(t, "webhook") },
		"discord_gateway":  func(t *testing.T) platform { t.Helper(); return newDiscord(t, "gateway") },
		"discord_commands": func(t *testing.T) platform { t.Helper(); return newDiscord(t, "interactions") },
		"whatsapp_web":     func(t *testing.T) platform { t.Helper(); return newWAWeb(t) },
		"whatsapp_cloud":   func(t *testing.T) platform { t.Helper(); return newWhatsApp(t) },
		"twilio_sms":       func(t *testing.T) platform { t.Helper(); return newTwilio(t, "") },
		"twilio_whatsapp":  func(t *testing.T) platform { t.Helper(); return newTwilio(t, "whatsapp:") },
		"webchat":          func(t *testing.T) platform { t.Helper(); return newWebchat(t) },
		"console":          func(t *testing.T) platform { t.Helper(); return newTerminal(t) },
	}
}

// allowed is the key allow with the ids of people.
func allowed(allow []person, id func(person) string) string {
	if len(allow) == 0 {
		return ""
	}
	var ids []string
	for _, p := range allow {
		ids = append(ids, strconv.Quote(id(p)))
	}
	return ", allow: [" + strings.Join(ids, ", ") + "]"
}
