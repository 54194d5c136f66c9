// Package decode puts a tree of values into Go structs, strictly: unknown keys,
// wrong types and missing values are mistakes with their place and the nearest
// key that exists, and all of them are told.
//
// It owns the tags that structs are described by, plain values of every kind,
// secrets and their _file form, JSON in the order of the file, and where ${VAR}
// is replaced: value by value, so that a variable's content can never become
// YAML. It doesn't own any key: types with a YAML form of their own implement
// [Unmarshaler] where they are declared.
package decode
