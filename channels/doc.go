// Package channels is the contract between a messaging platform and the core.
//
// It owns the types that cross that border: what comes in ([Inbound]), what
// goes out ([Part]), what a platform can do ([Capabilities]), how a call to it
// failed ([SendError]), and the interfaces an adapter implements. It imports
// nothing but the standard library.
//
// It doesn't own any platform: each one is a folder below. Nor does it own
// what happens to a message: that is internal/inbox and what follows it.
//
// An adapter translates, and nothing else. It keeps no queue, retries nothing,
// splits nothing and knows neither model nor store. Behaviour that only some
// platforms have is an optional interface ([Editor], [Typer], [Acker], …); how
// much of it they have is a field of [Capabilities]. channeltest fails an
// adapter whose interfaces and capabilities disagree.
package channels
