package storetest

import (
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/store"
)

// Opened is an open database of one test.
type Opened struct {
	// Store is open; the driver's test closes it.
	Store *store.Store
	// Advance moves the store's clock forward. The clock stands still
	// otherwise.
	Advance func(d time.Duration)
	// Reopen ends the store and opens its data again: in good order, or as
	// after a kill -9 where crash is true. As the program does after an
	// unclean stop, it then counts the crash.
	Reopen func(crash bool) *store.Store
	// Parked bounds how many questions are parked by the test of many; 0:
	// 100,000.
	Parked int
	// Holding names the tables, in order, that hold a text anywhere.
	Holding func(text string) []string
}

// Run runs the suite. open makes a new, empty database for each test and sees
// to its end.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	for _, group := range [][]test{
		acceptTests(), answerTests(), groupTests(), raceTests(), commandTests(), forgetTests(), turnTests(), stepTests(),
		outboxTests(), draftTests(), deliveryTests(), questionTests(), senderTests(), expiryTests(), restartTests(), keepTests(), exportTests(), cleanTests(), hostileTests(), modelTests(),
	} {
		for _, tt := range group {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.run(&bench{T: t, Opened: open(t)})
			})
		}
	}
}

// test is one rule, named after the point of the behaviour that it proves.
type test struct {
	name string
	run  func(b *bench)
}
