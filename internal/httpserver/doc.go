// Package httpserver is the one port that everything over HTTP is on.
//
// It owns the router, the probes, the limits that every request is under
// (time, headers, body, panics), the client's address behind proxies, the
// shape of errors, and the life of the listeners. It doesn't own what is
// mounted: a channel's webhook and pages are its adapter's, /metrics is
// internal/metrics's handler, and whether the process is ready is told by a
// function it is given.
//
// A request to /webhooks/{channel} reaches the adapter with that prefix
// stripped and its body unread and bounded: a signature is over the raw bytes.
// Requests that stream events (GET …/api/events) have no deadline and end when
// the server stops; all others are waited for.
package httpserver
