// Package problem numbers what can keep a daemon from starting: every such
// message ends in an id, [P1101], under which docs/errors.md has a section.
//
// It owns the ids and how they are attached to an error. It doesn't own the
// messages: whoever finds something wrong says what, where, and what would be
// right. An id is never given to anything else and never changes, for people
// search for it.
package problem

import (
	"errors"
	"fmt"
)

// ID is the number of a kind of mistake.
type ID string

// P10xx: a file that can't be read as a configuration.
const (
	Unreadable   ID = "P1001" // the file can't be opened
	Syntax       ID = "P1002" // no YAML
	Document     ID = "P1003" // YAML, but not one mapping of sections
	DuplicateKey ID = "P1004"
	TooLarge     ID = "P1005"
	Include      ID = "P1006"
	Feature      ID = "P1007" // of YAML, that a configuration doesn't have
)

// P11xx: the shape of what is written.
const (
	UnknownKey  ID = "P1101"
	WrongType   ID = "P1102"
	Missing     ID = "P1103"
	NotAllowed  ID = "P1104" // none of the words that may stand there
	Conflict    ID = "P1105" // two keys that exclude each other
	Variable    ID = "P1106" // ${…} that can't be replaced
	FileMissing ID = "P1107" // a file that the configuration names
	BadName     ID = "P1108" // of a channel or a tool
)

// P12xx: a value of the right shape that can't work.
const (
	Range       ID = "P1201"
	Address     ID = "P1202" // host:port, URL
	Language    ID = "P1203"
	Text        ID = "P1204" // under locale
	Words       ID = "P1205" // of yes and no
	StoreURL    ID = "P1206"
	Unavailable ID = "P1207" // known, but not in this build
	DemoAddress ID = "P1208"
	Fetch       ID = "P1209" // fetch.allow, and hosts that it doesn't have
	Redact      ID = "P1210"
)

// P13xx: tools.
const (
	ToolKind   ID = "P1301" // no kind, or several
	ToolSchema ID = "P1302"
	ToolArgs   ID = "P1303" // bind and labels
	ToolURL    ID = "P1304"
	Script     ID = "P1305"
	Tool       ID = "P1306" // anything else that a tool is refused for
	MCP        ID = "P1307" // the pins of MCP tools, or a server
)

// P14xx: channels and models.
const (
	Channel      ID = "P1401" // a value that the adapter refuses
	ChannelClash ID = "P1402"
	NoChannel    ID = "P1403"
	Model        ID = "P1404"
)

// P20xx: the store. P21xx: the network.
const (
	StoreInUse       ID = "P2001"
	StoreNetworkFS   ID = "P2002"
	StoreFolder      ID = "P2003"
	StoreNewer       ID = "P2004"
	StoreDamaged     ID = "P2005"
	StoreUnavailable ID = "P2006"
	StoreSchema      ID = "P2007"
	AddressInUse     ID = "P2101"
	AddressDenied    ID = "P2102"
	Listen           ID = "P2103"
)

// Error is an error with its id, which its text ends in.
type Error struct {
	ID  ID
	err error
}

func (e *Error) Error() string { return e.err.Error() + " [" + string(e.ID) + "]" }

// Unwrap gives what was wrong.
func (e *Error) Unwrap() error { return e.err }

// Errorf makes an error with the id.
func (id ID) Errorf(format string, args ...any) error {
	return &Error{ID: id, err: fmt.Errorf(format, args...)}
}

// Problem is the id.
func (e *Error) Problem() ID { return e.ID }

// Numbered is an error whose text has its id.
type Numbered interface {
	error
	Problem() ID
}

// Wrap gives the id to err; nil stays nil. What has an id already keeps that,
// and of joined errors each gets its own.
func (id ID) Wrap(err error) error {
	if _, has := err.(Numbered); err == nil || has { //nolint:errorlint // joined errors may have one that has
		return err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, one := range many.Unwrap() {
			out = append(out, id.Wrap(one))
		}
		return errors.Join(out...)
	}
	if _, has := errors.AsType[Numbered](err); has {
		return err
	}
	return &Error{ID: id, err: err}
}
