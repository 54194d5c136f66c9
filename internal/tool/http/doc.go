// Package httptool runs tools that are one HTTP request each.
//
// It owns how arguments and identity become a request and how an answer
// becomes a result. It doesn't own where requests may go nor how they are made
// (internal/egress), the validation of arguments (internal/tool), nor when a
// call is made and whether it may be repeated (internal/turn).
//
// Arguments come from a model and are nobody's word: each is escaped for the
// place where it lands, a value in the path stays within its segment, and who
// the request is for is bound from the channel (behaviour E1). Numbers and the
// order of keys travel as they were written.
package httptool
