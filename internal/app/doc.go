// Package app builds the daemon from its configuration, and starts and stops
// it in order.
//
// It owns the one table of channel kinds, model providers and tool kinds, and
// the wires between the parts: what an accepted message wakes, what a commit
// hands to the outbox, what a channel may see of the store. It decides nothing
// about a message; that is inbox, turn and the rest.
//
// [Build] does no I/O beyond reading the files that the configuration names:
// parley check is Build and no more. [New] adds the store, Start begins to
// work, Stop ends in the reverse order.
package app
