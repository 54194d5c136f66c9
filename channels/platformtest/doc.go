// Package platformtest is what the fakes of platforms have in common.
//
// It owns keeping what a fake took and waiting for it ([Mailbox]), and how the
// call of a REST API fails ([HTTPFault]). It doesn't own any platform's rules:
// each fake stands beside its adapter (channels/twilio/twiliotest and so on).
package platformtest
