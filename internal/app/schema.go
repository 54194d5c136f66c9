package app

import (
	"strings"

	"github.com/parley-bot/parley/docs"
	"github.com/parley-bot/parley/internal/config"
)

// Schema is the JSON Schema of this build's configuration, with the meanings
// of keys that the documents give.
func Schema() ([]byte, error) {
	keys := docs.Keys()
	return config.Schema(config.SchemaOptions{Options: Kinds(), Describe: func(path string) string {
		if text, ok := keys[path]; ok {
			return text
		}
		if model, ok := strings.CutPrefix(path, "model.fallback."); ok {
			return keys["model."+model]
		}
		// A channel's key that isn't in the page of its kind.
		if rest, ok := strings.CutPrefix(path, "channels."); ok {
			_, key, _ := strings.Cut(rest, ".")
			return keys["channels.NAME."+key]
		}
		return ""
	}})
}
