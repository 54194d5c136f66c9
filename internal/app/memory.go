package app

import (
	"context"
	"runtime/debug"
	"time"
)

// quiet is how long nothing must have been worked on before memory is given
// back.
const quiet = 5 * time.Second

// giveBack returns what a start or a burst of work took and rest doesn't need:
// free heap, the database's page caches, and pages of the program itself that
// were read to start it.
func (a *App) giveBack() {
	a.db.Shrink()
	debug.FreeOSMemory()
	dropProgramPages()
}

// rest gives memory back once after the start, and after each time of work.
func (a *App) rest(ctx context.Context) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	a.giveBack()
	for seen, clean := a.worked.Load(), true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch now := a.worked.Load(); {
		case now != seen:
			seen, clean = now, false
		case !clean:
			clean = true
			a.giveBack()
		}
	}
}
