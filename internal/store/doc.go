// Package store has the transactions of the durable core, written once for
// every database: T0 to T9 and the reads beside them.
//
// It owns the rows' state machine and all SQL but the schema. A database
// driver (sqlite, later postgres) is a [DB]: it decides how a transaction is
// run and committed, and brings the schema. The calls themselves are declared
// by those who need them (inbox, dispatch, turn, outbox, audit and the
// channels' host); [Store] implements them all, each as one commit.
//
// Rules that every transaction here keeps:
//   - Order comes from counters in the lane's or the chat's row, never from ids
//     or clocks.
//   - "Queued" means seq > done_seq and not taken by a turn; there is no status
//     to forget.
//   - A write of a turn reads the lane's row first (locking it) and compares
//     its fence: a stale one gets lease.ErrLost and changes nothing.
//   - A question is resolved by the one update that finds it pending.
//   - What is said goes into the outbox in the commit that decides it.
package store
