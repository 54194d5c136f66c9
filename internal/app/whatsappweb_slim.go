//go:build slim

package app

import (
	"errors"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/config"
)

// fullOnly has the keys of a channel that only the full build has, so that
// nothing else is found wrong with them.
type fullOnly struct {
	DeviceName string `yaml:"device_name"`
	MarkRead   bool   `yaml:"mark_read"`
}

// Validate says which build has it.
func (*fullOnly) Validate() error {
	return errors.New("kind whatsapp_web is not in this slim build of parley: use the full one (make build, or a release without \"slim\" in its name), which is distributed under the GPL 3.0; see parley version")
}

func newWhatsAppWeb(c config.Channel, _ channelEnv) (channels.Adapter, error) {
	return nil, c.Decode(&fullOnly{})
}

// Slim tells whether this is the build without WhatsApp Web.
const Slim = true
