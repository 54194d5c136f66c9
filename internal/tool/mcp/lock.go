package mcptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// lockVersion is the form of the file.
const lockVersion = 1

// MaxLockBytes bounds a lock file.
const MaxLockBytes = 16 << 20

// Lock holds the pinned cards: those that the operator has read and let in. The
// zero value has none. As a file it is JSON made for review: sorted, a line of
// a description a line, and no character in it that can't be seen.
type Lock struct {
	servers map[string]map[string]Card
}

// The file's form.
type (
	lockFile struct {
		Version int                           `json:"version"`
		Servers map[string]map[string]lockPin `json:"servers"`
	}
	lockPin struct {
		Digest      string          `json:"digest"`
		Description []string        `json:"description"`
		Schema      json.RawMessage `json:"schema"`
	}
)

// ParseLock reads a lock file. The digests are those of the cards beside them:
// a card that was edited is an error.
func ParseLock(data []byte) (Lock, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f lockFile
	if err := dec.Decode(&f); err != nil {
		return Lock{}, fmt.Errorf("reading the pins: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Lock{}, errors.New("reading the pins: there is something behind the JSON object")
	}
	if f.Version != lockVersion {
		return Lock{}, fmt.Errorf("version %d is not known; this parley writes %d", f.Version, lockVersion)
	}
	l := Lock{servers: map[string]map[string]Card{}}
	for _, server := range slices.Sorted(maps.Keys(f.Servers)) {
		l.servers[server] = map[string]Card{}
		for _, name := range slices.Sorted(maps.Keys(f.Servers[server])) {
			p := f.Servers[server][name]
			c, err := makeCard(name, strings.Join(p.Description, "\n"), p.Schema)
			if err == nil && c.Digest() != p.Digest {
				err = errors.New("the card isn't the one of the digest: it was edited; write it anew with parley mcp pin")
			}
			if err != nil {
				return Lock{}, fmt.Errorf("server %s, tool %s: %w", server, name, err)
			}
			l.servers[server][name] = c
		}
	}
	return l, nil
}

// Encode is the lock as a file.
func (l Lock) Encode() ([]byte, error) {
	f := lockFile{Version: lockVersion, Servers: map[string]map[string]lockPin{}}
	for server, cards := range l.servers {
		f.Servers[server] = map[string]lockPin{}
		for name, c := range cards {
			f.Servers[server][name] = lockPin{Digest: c.Digest(), Description: strings.Split(c.Description, "\n"), Schema: c.Schema}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("writing the pins: %w", err)
	}
	return visible(b.Bytes()), nil
}

// Card is a pin.
func (l Lock) Card(server, name string) (Card, bool) {
	c, ok := l.servers[server][name]
	return c, ok
}

// Servers are the names of servers with pins, sorted.
func (l Lock) Servers() []string { return slices.Sorted(maps.Keys(l.servers)) }

// with is the lock with the pins of one server replaced; none removes it.
func (l Lock) with(server string, cards map[string]Card) Lock {
	out := Lock{servers: maps.Clone(l.servers)}
	if out.servers == nil {
		out.servers = map[string]map[string]Card{}
	}
	if len(cards) == 0 {
		delete(out.servers, server)
	} else {
		out.servers[server] = cards
	}
	return out
}

// visible escapes what JSON lets stand and a reader can't see: zero-width and
// bidirectional characters, tags. A description can hide a text from people in
// them that a model reads.
func visible(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for _, r := range string(data) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out = append(out, string(r)...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
