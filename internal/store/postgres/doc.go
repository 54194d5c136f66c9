// Package postgres keeps the store in a PostgreSQL database (15 or later), for
// any number of processes at once.
//
// It owns the schema, the connections, what an error of the server means, how a
// transaction is tried again, and the hints between processes. It owns no
// transaction: those are internal/store's, and so are the leases.
//
// Each call is one transaction on a connection of a pool, at the isolation READ
// COMMITTED: rows that matter are locked before they are decided upon. Writes
// of one lane wait for each other in this process, so that a busy chat takes
// one connection and no more. The server joins commits that meet in one sync
// by itself. Several calls in one transaction, as in sqlite, would take in 1.2
// times as many messages, 1.7 times where a sync takes 2 ms and 3.5 times at 10
// ms (measured: 2,200 a second become 3,700 at 2 ms): more than a bot needs, for
// which chats would wait for each other's locks, and fail together.
//
// What can go wrong with a connection:
//   - It breaks before COMMIT was sent: nothing was kept. The call runs again
//     on another one, a few times, then fails with inbox.ErrUnavailable.
//   - It breaks at COMMIT: the server is asked, by the transaction's id, what
//     became of it. Only where it can't be asked for long does the call fail
//     without anyone knowing. Callers bear that: a message comes again and is
//     found in dedupe; a step's turn is loaded anew, with what was kept of it;
//     a claim without an owner who knows lapses, or is had by asking again.
//   - A deadlock, a serialization failure, or a row that another process made
//     first: the call runs again.
//
// Nothing here waits for a model or a platform while it has a connection.
package postgres
