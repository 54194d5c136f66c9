package httptool

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// headerTemplate is a header with placeholders in its value.
type headerTemplate struct {
	name   string
	pieces []tool.Piece
}

// setHeader sorts headers into those that are the same for each request and
// those with placeholders. known tells what {name} may be; the message about
// one that isn't holds nothing of the value, which may be a credential.
func (r *Runner) setHeader(headers map[string]secret.String, known func(string) bool) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name].Reveal()
		ps := tool.LoosePieces(value)
		placeholder := func(p tool.Piece) bool { return p.Name != "" }
		switch {
		case name == "" || strings.Trim(name, tokenChars) != "":
			errs = append(errs, tool.At("headers."+name, fmt.Errorf("headers: %q is no name of a header", name)))
		case egress.OwnHeader(name):
			errs = append(errs, tool.At("headers."+name, fmt.Errorf("headers: %s belongs to the connection and can't be set", name)))
		case strings.EqualFold(name, idempotencyKey):
			errs = append(errs, tool.At("headers."+name, fmt.Errorf("headers: %s is the id of the call and can't be set", name)))
		case hasControl(value):
			errs = append(errs, tool.At("headers."+name, fmt.Errorf("headers: the value of %s holds a line break or another control character", name)))
		case r.hasHeader(name):
			errs = append(errs, tool.At("headers."+name, fmt.Errorf("headers: %s is given twice", name)))
		case !slices.ContainsFunc(ps, placeholder):
			r.header.Set(name, value)
		case slices.ContainsFunc(ps, func(p tool.Piece) bool { return placeholder(p) && !known(p.Name) }):
			errs = append(errs, tool.At("headers."+name, fmt.Errorf("headers: a placeholder in %s is neither an argument in the schema nor bound", name)))
		default:
			r.headers = append(r.headers, headerTemplate{http.CanonicalHeaderKey(name), ps})
		}
	}
	return errors.Join(errs...)
}

func (r *Runner) hasHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return r.header[name] != nil || slices.ContainsFunc(r.headers, func(h headerTemplate) bool { return h.name == name })
}

// fill sets the header of a call, but for one that is nothing else than an
// argument that wasn't given. Control characters become blanks: a line break
// would begin another header.
func (h headerTemplate) fill(to http.Header, vs values) {
	if len(h.pieces) == 1 && vs.absent(h.pieces[0].Name) {
		return
	}
	to.Set(h.name, strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, textOf(h.pieces, vs))))
}

const (
	idempotencyKey = "Idempotency-Key"
	tokenChars     = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" // RFC 9110 5.6.2
)
