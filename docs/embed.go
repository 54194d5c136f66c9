// Package docs has the documents, for what in the program is made from them:
// the tables of keys in config.md and in the pages of channels are what editors
// show of a key. It owns reading those tables. Whether they are complete is
// tested in configs/starter.
package docs

import (
	"embed"
	"regexp"
	"strings"
)

// Only the pages with such tables: they are in every binary.
//
//go:embed config.md discord.md telegram.md twilio.md whatsapp-cloud.md whatsapp-web.md
var files embed.FS

// Keys maps keys of the configuration to their meaning, as plain text. Keys
// are dotted, with NAME for names of the operator's choice, as in
// tools.NAME.title. A channel's own keys are below channels.KIND, where a page
// is named after the kind (whatsapp_cloud: whatsapp-cloud.md).
func Keys() map[string]string {
	keys := map[string]string{}
	entries, err := files.ReadDir(".")
	if err != nil {
		return keys // embedded: can't be
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			continue // likewise
		}
		prefix := "channels." + strings.ReplaceAll(strings.TrimSuffix(e.Name(), ".md"), "-", "_") + "."
		if e.Name() == "config.md" {
			prefix = ""
		}
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			keys[prefix+m[1]] = plain(m[2])
		}
	}
	return keys
}

// row is one row of a table of keys: key, kind, default, meaning.
var row = regexp.MustCompile("(?m)^\\| `([a-zA-Z_.]+)` \\| [^|]+ \\| [^|]+ \\| (.+) \\|$")

// plain takes the marks of Markdown away.
func plain(s string) string {
	s = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(s, "$1")
	return strings.NewReplacer("`", "", `\|`, "|").Replace(s)
}
