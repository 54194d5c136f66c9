package channels

import (
	"context"
	"fmt"
	"time"
)

// LinkState is how a channel stands with its platform.
type LinkState string

// The states. All but LinkUp mean that nothing is received.
const (
	// LinkUp: connected; messages are received.
	LinkUp LinkState = "up"
	// LinkConnecting: not connected yet, or not now; it is tried again.
	LinkConnecting LinkState = "connecting"
	// LinkFailed: Run has ended with an error. The core starts it again.
	LinkFailed LinkState = "failed"
	// LinkPairing: no device is linked to the account. A person has to.
	LinkPairing LinkState = "pairing_needed"
	// LinkLoggedOut: the platform unlinked the device. A person has to link it
	// again.
	LinkLoggedOut LinkState = "logged_out"
	// LinkRefused: the platform refuses the account's credentials, or what they
	// are used for. A person has to change them; the detail says which.
	LinkRefused LinkState = "refused"
	// LinkReplaced: somebody else connected with the same credentials.
	LinkReplaced LinkState = "replaced"
	// LinkOutdated: the platform refuses this version of the program.
	LinkOutdated LinkState = "outdated"
	// LinkBanned: the platform has banned the account, for a while or for ever.
	LinkBanned LinkState = "banned"
	// LinkStandby: another process that shares the database receives; this one
	// takes over when that ends. The core's own: no adapter says so.
	LinkStandby LinkState = "standby"
)

// LinkStates lists all of them.
func LinkStates() []LinkState {
	return []LinkState{LinkUp, LinkConnecting, LinkFailed, LinkPairing, LinkLoggedOut, LinkRefused, LinkReplaced, LinkOutdated, LinkBanned, LinkStandby}
}

// Lasting tells whether the state ends only when a person does something, or
// the platform changes its mind.
func (s LinkState) Lasting() bool {
	return s != LinkUp && s != LinkConnecting && s != LinkFailed && s != LinkStandby && s != ""
}

// Link is the state, and what to say of it.
type Link struct {
	State LinkState
	// Detail says why and what to do, in a few words; it holds no credential.
	Detail string
	// Until is when the state ends by itself; zero where nobody knows.
	Until time.Time
}

func (l Link) String() string {
	switch {
	case l.Detail == "":
		return string(l.State)
	case l.Until.IsZero():
		return string(l.State) + ": " + l.Detail
	default:
		return fmt.Sprintf("%s: %s (until %s)", l.State, l.Detail, l.Until.UTC().Format(time.RFC3339))
	}
}

// Linker is an adapter that holds a connection and knows how it stands.
// While Run runs it tells the sink of every change, if the sink is a LinkSink.
type Linker interface {
	// Link is the state now; it makes no call. Before Run and after it the
	// state is not LinkUp.
	Link() Link
}

// LinkSink is a Sink that wants to know how the connection stands. It is
// optional: an adapter asks its sink for it.
type LinkSink interface {
	// Linked takes the new state. It doesn't block.
	Linked(ctx context.Context, l Link)
}
