// Package sqltool runs tools that are one SQL statement each, and statements
// of scripts (ctx.db), on data sources that the configuration names.
//
// It owns the parsing of :name parameters, how JSON becomes a parameter and a
// row becomes JSON without loss, the transaction around each statement, and
// the bounds of what is read. It doesn't own the bot's own database
// (internal/store), the validation of arguments (internal/tool), nor when a
// call is made and whether it may be repeated (internal/turn).
//
// The statement is the owner's; arguments come from a model and are only ever
// bound as parameters, never written into the text. Who a statement is for is
// bound from the channel (behaviour E1). A tool that reads runs in a read-only
// transaction, on SQLite on a file that was opened for reading only: a mistake
// in its statement can't write.
package sqltool
