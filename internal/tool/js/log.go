package js

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
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
// a log line or an error. Very short ones are left: masking them would only
// garble texts.
type masks struct {
	mu     sync.Mutex
	values []string
}

const shortestMask = 4

func (m *masks) add(secret string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(secret) < shortestMask || slices.Contains(m.values, secret) {
		return
	}
	m.values = append(m.values, secret)
}

func (m *masks) mask(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.values {
		text = strings.ReplaceAll(text, v, "***")
	}
	return text
}
