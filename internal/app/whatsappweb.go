//go:build !slim

package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store/whatsappdb"
)

func newWhatsAppWeb(c config.Channel, env channelEnv) (channels.Adapter, error) {
	cfg := whatsappweb.Defaults()
	if err := c.Decode(&cfg); err != nil {
		return nil, err
	}
	a, err := whatsappweb.New(cfg, whatsappweb.Deps{
		Host: env.host, Log: env.log, Name: c.Name, Transport: env.opts.Transport,
		Open: func(ctx context.Context) (whatsappweb.Store, error) {
			db, err := openSession(ctx, env.cfg, c.Name)
			if err != nil {
				return nil, err
			}
			return db, nil
		},
		InUse: func(err error) bool { return errors.Is(err, whatsappdb.ErrInUse) },
	})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return a, nil
}

// openSession opens what the SDK keeps of a channel's linked device: beside the
// bot's database, or within it where that isn't a file.
func openSession(ctx context.Context, cfg *config.Config, channel string) (*whatsappdb.DB, error) {
	if url, ok := postgresURL(cfg); ok {
		return whatsappdb.OpenPostgres(ctx, url, channel, nil)
	}
	return whatsappdb.Open(ctx, filepath.Join(DataDir(cfg), whatsAppFile+channel+".db"), nil)
}

// Slim tells whether this is the build without WhatsApp Web.
const Slim = false
