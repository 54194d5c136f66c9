// Package tooltest is the conformance suite of tool.Runner, and a tool.Store
// in memory.
//
// It owns what every kind of tool must do alike. What a kind does beyond that
// is tested beside it.
package tooltest
