package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// Backup copies the database to target, also beside the daemon, and the
// session files of WhatsApp Web to names that begin with target. The database's
// own copy is the last to appear. It overwrites nothing, and where it fails it
// leaves nothing.
func Backup(ctx context.Context, cfg *config.Config, target string) ([]sqlite.Copy, error) {
	if _, ok := postgresURL(cfg); ok {
		return nil, problem.Unavailable.Errorf("the database is PostgreSQL's, which has its own tools to back it up: use pg_dump, or what its host offers")
	}
	path, err := sqlitePath(cfg)
	if err != nil {
		return nil, err
	}
	var copies []sqlite.Copy
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("reading the data folder: %w (has parley been started here?)", err)
	}
	for _, e := range entries {
		name := e.Name()
		// Also those of channels that aren't configured now: a device stays linked.
		if strings.HasPrefix(name, whatsAppFile) && filepath.Ext(name) == ".db" && name != filepath.Base(path) {
			copies = append(copies, sqlite.Copy{From: filepath.Join(filepath.Dir(path), name), To: target + "." + name})
		}
	}
	copies = append(copies, sqlite.Copy{From: path, To: target})
	if err := sqlite.Backup(ctx, copies); err != nil {
		return nil, fmt.Errorf("backing up: %w", err)
	}
	return copies, nil
}

// whatsAppFile begins the names of WhatsApp Web's session files.
const whatsAppFile = "whatsapp-"
