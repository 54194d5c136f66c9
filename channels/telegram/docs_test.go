package telegram_test

import (
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
)

func TestDocs_HaveEveryKey(t *testing.T) {
	t.Parallel()
	channeltest.Documented(t, "../../docs/telegram.md", telegram.Defaults())
}
