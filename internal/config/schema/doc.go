// Package schema derives JSON Schema (2020-12) from the structs that package
// decode fills, by the same tags, so that it can't tell of other keys than the
// decoder takes.
//
// It owns how a type looks as a schema: plain values, sections, lists, maps,
// secrets with their _file form, defaults. It doesn't own what the
// configuration has: internal/config says which sections there are, what goes
// together in them, and what types with a YAML form of their own look like.
package schema
