// Package twiliotest is Twilio's Programmable Messaging for tests: a REST API on
// loopback that refuses what Twilio refuses, and a sender of signed webhooks.
//
// It owns strict validation of calls, faults to order, and requests signed by
// an implementation of Twilio's algorithm of its own. It delivers nothing by
// itself.
package twiliotest
