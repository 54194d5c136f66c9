// Package starter holds the files that `parley init` writes: a bot to begin
// with. It owns nothing but the files: what they mean is internal/config,
// internal/tool/js and internal/llm/script. The types for editors are
// js.TypesFile.
package starter

import "embed"

// Files are parley.yaml, tools.ts and model.yaml, as they are in this folder.
// Paths within parley.yaml are relative to it.
//
//go:embed parley.yaml tools.ts model.yaml
var Files embed.FS
