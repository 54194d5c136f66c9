package js

import (
	"log/slog"
	"sync"

	"github.com/parley-bot/parley/internal/secret"
)

// loggerFor is a module's logger; it exists to keep the script's own lines
// under one constant message.
type loggerFor struct{ *slog.Logger }

func (l loggerFor) script(level, text string, attrs ...any) {
	attrs = append([]any{"text", text}, attrs...)
	switch level {
	case "debug":
		l.Debug("script log", attrs...)
	case "warn":
		l.Warn("script log", attrs...)
	case "error":
		l.Error("script log", attrs...)
	default:
		l.Info("script log", attrs...)
	}
}

// masks remembers the secrets that scripts were given, so that none leaves in
// a result, a question, a saved value, a log line or an error. Short ones are
// left, as http tools do it: masking them would only garble texts.
type masks struct {
	mu sync.RWMutex
	of secret.Masks
}

func (m *masks) add(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.of.Has(value) {
		m.of = m.of.With(secret.Least, value)
	}
}

func (m *masks) now() secret.Masks {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.of
}

func (m *masks) mask(text string) string { return m.now().Text(text) }

// json masks a JSON text, "" being none; it stays JSON.
func (m *masks) json(text string) string { return string(m.now().JSON([]byte(text))) }
