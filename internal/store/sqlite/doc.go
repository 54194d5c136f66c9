// Package sqlite keeps the store in one file, for one process.
//
// It owns the schema, the file's lock, the one writer and its group commit,
// and what an error of the disk means. It owns no transaction: those are
// internal/store's.
//
// One goroutine writes. It takes a call, begins, runs it in a savepoint, runs
// whatever else is queued the same way, commits once with synchronous=FULL, and
// only then answers all of them. Nobody waits for company: batches grow only
// while a commit is under way. Readers have connections that can't write.
//
// A disk that is full or read-only fails the calls of one batch with
// inbox.ErrUnavailable and the process stays up; so does a file that was moved
// or removed meanwhile, until it is back. A failed sync, an I/O error or
// a corrupt file ends it (Options.Fatal): what the file holds then is only
// known after reading it anew.
package sqlite
