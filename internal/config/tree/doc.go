// Package tree reads the files of a configuration into one tree of values, each
// with the place where it is written.
//
// It owns files and what they include, YAML with its aliases and merge keys
// resolved and bounded, places (file:line:column), the list of mistakes, and
// how a message quotes what is written (the nearest word, clipped values,
// ${VAR} before it is replaced). It doesn't own what a key means: internal/config
// and its package decode do. Secrets are only ever text here, which no message
// repeats.
package tree
