// Package bakery holds the files of the demo bot, so that the program can run
// it where there is no configuration. It owns nothing but the files: what they
// mean is internal/config, internal/tool/js and internal/llm/script.
package bakery

import "embed"

// Files are parley.yaml, tools.ts and model.yaml, as they are in this folder.
// Paths within parley.yaml are relative to it.
//
//go:embed parley.yaml tools.ts model.yaml
var Files embed.FS
