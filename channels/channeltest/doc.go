// Package channeltest tests adapters, and tests the core without one.
//
// It owns three things. [Run] is the conformance suite that every adapter
// passes. [Fake] is a platform in memory: its capabilities are settable, it
// refuses what a strict platform refuses, fails on request and remembers all
// that was said, so that tests of the core need no real one. [Host] is the
// core's side in memory, for tests of adapters.
//
// It doesn't own the contract itself (package channels), nor anything a
// production binary needs: only tests and the scenario runner import it.
package channeltest
