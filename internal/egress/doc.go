// Package egress guards the HTTP requests that tools make.
//
// It owns the question where a tool may connect: the allow-list
// (configuration: fetch.allow), the refusal of private addresses, redirects,
// and one guarded exchange ([Guard.Do]) that bounds what is read and tells a
// request that certainly never left from one that may have taken effect. It
// doesn't own what is asked of a host (internal/tool/http, a script's
// ctx.fetch), nor the connections of channels and model providers: those go
// where their operator's configuration says.
//
// The name in a URL proves nothing: a name can resolve to a private address,
// now or at the next look-up, and a host can redirect anywhere. So the list is
// asked for every hop, and the address is judged once more in the dialer, when
// it is a number and about to be connected to.
//
// Proxy settings of the environment are ignored: a proxy would connect in our
// place, to addresses that nobody judged.
package egress
