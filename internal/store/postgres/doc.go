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
// by itself; to put several calls into one transaction would gain little and
// tie chats to each other's locks.
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
