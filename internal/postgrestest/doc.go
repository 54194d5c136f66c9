// Package postgrestest runs a PostgreSQL of its own for the tests of a package.
//
// It owns a cluster in a folder that is deleted, begun once a test process and
// only when a test asks for it, and a database for each test. It doesn't own
// what is done there, nor a PostgreSQL that is there already: `make setup`
// installs the programs (15 or later).
package postgrestest
