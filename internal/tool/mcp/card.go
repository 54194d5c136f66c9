package mcptool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-bot/parley/internal/tool"
)

// maxCard bounds a card, in bytes: a model pays for it in every call.
const maxCard = 64 << 10

// Card is all of a remote tool that a model sees.
type Card struct {
	Name        string
	Description string
	Schema      json.RawMessage // canonical JSON
}

// newCard takes a card from a server's list.
func newCard(t *mcp.Tool) (Card, error) {
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return Card{}, fmt.Errorf("reading the schema: %w", err)
	}
	return makeCard(t.Name, t.Description, raw)
}

func makeCard(name, description string, schema json.RawMessage) (Card, error) {
	if n := len(description) + len(schema); n > maxCard {
		return Card{}, fmt.Errorf("the card is %d bytes long; %d are allowed", n, maxCard)
	}
	if !utf8.ValidString(name) || !utf8.ValidString(description) {
		return Card{}, errors.New("the card is not valid UTF-8")
	}
	canonical, err := tool.Canonical(schema)
	if err != nil {
		return Card{}, fmt.Errorf("reading the schema: %w", err)
	}
	return Card{Name: name, Description: description, Schema: canonical}, nil
}

// Digest is "sha256:" and the hash of all that the card holds.
func (c Card) Digest() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Three strings always encode.
	_ = enc.Encode([]string{c.Name, c.Description, string(c.Schema)})
	sum := sha256.Sum256(b.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// compiles tells why the card can't be a tool.
func (c Card) compiles() error {
	_, err := tool.NewRegistry([]tool.Tool{{Name: "card", Description: c.Description, Schema: c.Schema, Runner: (*runner)(nil)}})
	if err != nil {
		return errors.Unwrap(firstOf(err))
	}
	return nil
}

// firstOf is the first of joined errors.
func firstOf(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
		return many.Unwrap()[0]
	}
	return err
}
