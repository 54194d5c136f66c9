package whatsappweb

import (
	"context"
	"fmt"
	"testing"

	"go.mau.fi/whatsmeow"

	"github.com/parley-bot/parley/channels"
)

// What failed before the message left is tried again, what a person has to
// mend isn't, and where nobody knows whether it arrived that is said.
func TestSendError_Classes_G5(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want channels.SendClass
	}{
		{whatsmeow.ErrMessageTimedOut, channels.Unknown},
		{&whatsmeow.DisconnectedError{Action: "message send"}, channels.Unknown},
		{&whatsmeow.DisconnectedError{Action: "message send (retry)"}, channels.Unknown},
		{fmt.Errorf("waiting for an answer: %w", context.DeadlineExceeded), channels.Unknown},
		{&whatsmeow.DisconnectedError{Action: "info query"}, channels.Temporary},
		{fmt.Errorf("failed to send message node: %w", whatsmeow.ErrNotConnected), channels.Temporary},
		{whatsmeow.ErrNotLoggedIn, channels.Temporary},
		{fmt.Errorf("failed to get device list: %w", whatsmeow.ErrIQTimedOut), channels.Temporary},
		{fmt.Errorf("failed to save cached sessions: %w", errNoKeys), channels.Temporary},
		{&whatsmeow.IQError{Code: 429, Text: "rate-overlimit"}, channels.RateLimited},
		{&whatsmeow.IQError{Code: 500}, channels.Temporary},
		{fmt.Errorf("failed to get group members: %w", &whatsmeow.IQError{Code: 403}), channels.PermanentChat},
		{fmt.Errorf("failed to get group members: %w", &whatsmeow.IQError{Code: 404}), channels.PermanentChat},
		{fmt.Errorf("no LID found for %s from server", "15559990000@s.whatsapp.net"), channels.PermanentChat},
		{whatsmeow.ErrRecipientADJID, channels.PermanentChat},
		{fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, 463), channels.PermanentChat},
		{fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, 479), channels.PermanentMessage},
		{fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, 429), channels.RateLimited},
		{fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, 503), channels.Temporary},
	} {
		if got := sendError(tc.err); got.Class != tc.want {
			t.Errorf("%v is %s, want %s", tc.err, got.Class, tc.want)
		}
	}
}
