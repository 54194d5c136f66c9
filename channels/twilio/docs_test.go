package twilio_test

import (
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/twilio"
)

func TestDocs_HaveEveryKey(t *testing.T) {
	t.Parallel()
	channeltest.Documented(t, "../../docs/twilio.md", twilio.Defaults())
}
