// Package whatsappwebtest is WhatsApp in memory, for tests: a server that the
// real SDK connects to, and people with phones.
//
// It owns the wire as far as a bot sees it: the websocket and its Noise
// handshake, with a certificate chain of its own; pairing by QR code and by
// typed code; login; keys, and messages encrypted by the Signal protocol in
// both directions, in groups by sender keys; acknowledgements, and delivery again of what wasn't
// acknowledged; receipts; every way in which a session ends. What a strict
// server would refuse is noted as wrong.
//
// It doesn't own media, app state, or anything else that the bot doesn't use.
//
// The SDK takes the root of the server's certificates from a variable of the
// whole process: [Trust] sets it, so that a test binary with this package can't
// reach the real WhatsApp.
package whatsappwebtest
