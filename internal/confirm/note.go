package confirm

import (
	"strings"

	"github.com/parley-bot/parley/internal/locale"
)

// NamedTool is a tool as the model and as people call it.
type NamedTool struct {
	Name  string
	Title string // "" is the humanized name
}

// Note is the part of the system prompt about the tools that are confirmed
// (behaviour B7), or "" where there are none.
func Note(tools []NamedTool, catalog *locale.Catalog, lang string) string {
	if len(tools) == 0 {
		return ""
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = oneLine(t.Name) + " («" + displayName(t.Name, t.Title) + "»)"
	}
	return catalog.Text(lang, locale.ConfirmNote, locale.Arg{Name: "tools", Value: strings.Join(names, ", ")})
}
