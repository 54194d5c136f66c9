// Package mcptool offers tools of MCP servers: programs of others' making,
// beside parley or behind a URL, that describe their own tools.
//
// It owns the servers' sessions and processes, the pins of their cards, which
// tools are quarantined, and how a result becomes text for a model. It doesn't
// own the question before a call and the audit of it (internal/turn), the
// protocol itself (the SDK), nor which addresses are public (internal/egress).
//
// A remote card is somebody else's text in the model's prompt, and can change
// overnight. So nothing is offered that isn't allowed by name and pinned: the
// lock file holds the card as the operator has read it, a model is shown that
// card and no other, and a tool runs only while its server's present card is the
// same. Whatever differs is quarantined until the operator has looked at it
// (behaviour E4). What a server says of itself beyond that (titles,
// annotations, instructions) is used nowhere.
//
// A [Fleet] is made without I/O, from the configuration and the lock file. Run
// connects and keeps connected; a server that is down, hangs, floods or dies
// takes only its own tools' calls with it.
package mcptool
