// Package storetest proves that a database driver keeps what internal/store
// promises: one suite for all drivers.
//
// It owns the rules of the transactions T0 to T9 as tests and a randomized
// comparison with a model. It has no SQL and relies on nothing that only one
// driver does; what is particular to a driver is tested beside it.
package storetest
