package whatsappcloud_test

import (
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappcloud"
)

func TestDocs_HaveEveryKey(t *testing.T) {
	t.Parallel()
	channeltest.Documented(t, "../../docs/whatsapp-cloud.md", whatsappcloud.Defaults())
}
