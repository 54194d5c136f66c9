// Package dispatch decides which lane is worked on when: one turn at a time in
// a lane, many lanes at once.
//
// It owns the queue of lanes known to have work, the number of workers, the
// leases that are held, back-off of lanes whose work fails, and the clock that
// ends questions. It doesn't own the work (Deps.Work), nor the truth about what
// is waiting: that is the store. Everything in memory here is a hint, so it may
// be dropped at any time; a scan of the store finds it again.
//
// A parked lane costs nothing: it has no record here until it is woken.
//
// Order of locks and calls: no call to the store, to Work or to a hook is made
// with the lock held.
package dispatch
