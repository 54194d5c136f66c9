package config

import "github.com/parley-bot/parley/internal/config/tree"

// What callers are told of mistakes and places.
type (
	// Pos says where something was configured.
	Pos = tree.Pos
	// Error is one thing wrong with a configuration.
	Error = tree.Error
	// Errors is all that is wrong with a configuration, in the order of the
	// file.
	Errors = tree.Errors //nolint:errname // as there
)
