// Package whatsappcloudtest is Meta's Cloud API for tests: a Graph API on
// loopback that refuses what Meta refuses, and a sender of signed webhooks.
//
// It owns what a test needs to hold an adapter to the platform's rules: strict
// validation of calls, faults to order, a clock for the 24-hour window, and
// batches in all shapes. It doesn't deliver anything by itself.
package whatsappcloudtest
