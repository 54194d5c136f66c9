package config

import (
	"reflect"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/secret"
)

// processSettings lists the dotted paths of the scalars that environment and
// flags override.
func processSettings() []string {
	t := reflect.TypeFor[Config]()
	var out []string
	for _, r := range decode.RulesOf(t) {
		switch r.Name {
		case "server", "store", "bot", "model", "loop", "confirm", "limits", "outbox", "alerts", "log":
			out = append(out, scalarPaths(r.Type, r.Name)...)
		}
	}
	return out
}

func scalarPaths(t reflect.Type, path string) []string {
	var out []string
	for _, r := range decode.RulesOf(t) {
		p := decode.Join(path, r.Name)
		switch {
		case decode.Is[secret.String](r.Type):
			out = append(out, p, p+"_file")
		case decode.IsScalar(r.Type), decode.Is[SystemNote](r.Type), decode.Is[AnswerBy](r.Type):
			out = append(out, p)
		case r.Type.Kind() == reflect.Struct:
			out = append(out, scalarPaths(r.Type, p)...)
		}
	}
	return out
}
