package httptool

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// template is a URL with placeholders, cut up by place: what is filled into
// one part can't reach another.
type template struct {
	scheme string
	host   []tool.Piece
	path   []tool.Piece // begins with a slash, or is empty
	query  []pair
	sample *url.URL // every placeholder filled with x
}

// pair is one key=value of the query; a key has no placeholders.
type pair struct {
	raw   string // the literal key, as written
	key   string // decoded
	bare  bool   // no "="
	value []tool.Piece
}

func parseTemplate(s string) (template, error) {
	var t template
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return t, errors.New("it must begin with http:// or https://")
	}
	t.scheme = scheme
	if strings.Contains(rest, "#") {
		return t, errors.New("a fragment (#…) is never sent: take it out")
	}
	if strings.ContainsFunc(rest, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"<>\\^`|", c) }) {
		return t, errors.New("it holds a character that must be escaped (%XX)")
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	var err error
	if t.host, err = tool.Pieces(host); err != nil {
		return t, err
	}
	if t.path, err = tool.Pieces(path); err != nil {
		return t, err
	}
	if hasQuery && query != "" {
		for part := range strings.SplitSeq(query, "&") {
			p, err := parsePair(part)
			if err != nil {
				return t, err
			}
			t.query = append(t.query, p)
		}
	}
	t.sample, err = t.try()
	return t, err
}

func parsePair(part string) (pair, error) {
	raw, value, hasValue := strings.Cut(part, "=")
	if strings.ContainsAny(raw, "{}") {
		return pair{}, errors.New("a placeholder can't stand for a key of the query, only for its value")
	}
	key, err := url.QueryUnescape(raw)
	if err != nil || strings.Contains(part, ";") {
		return pair{}, errors.New("the query is malformed")
	}
	ps, err := tool.Pieces(value)
	return pair{raw: raw, key: key, bare: !hasValue, value: ps}, err
}

// try fills the template with x and reads it back, so that mistakes in the
// literal text are found at once. It returns the filled URL.
func (t template) try() (*url.URL, error) {
	fill := func(ps []tool.Piece) string {
		var b strings.Builder
		for _, p := range ps {
			if p.Name != "" {
				b.WriteByte('x')
			}
			b.WriteString(p.Text)
		}
		return b.String()
	}
	query := make([]string, len(t.query))
	for i, p := range t.query {
		query[i] = p.raw + "=" + fill(p.value)
	}
	s := t.scheme + "://" + fill(t.host) + fill(t.path)
	if len(query) > 0 {
		s += "?" + strings.Join(query, "&")
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("it is malformed") // url.Error quotes it
	}
	if u.User != nil {
		return nil, errors.New("it holds credentials (user@): put them in headers")
	}
	if u.Hostname() == "" {
		return nil, errors.New("it has no host")
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return nil, errors.New("the query is malformed")
	}
	return u, nil
}

func (t template) constantHost() bool {
	return !slices.ContainsFunc(t.host, func(p tool.Piece) bool { return p.Name != "" })
}

// names are the placeholders, each once.
func (t template) names() []string {
	var out []string
	add := func(ps []tool.Piece) {
		for _, p := range ps {
			if p.Name != "" && !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	add(t.host)
	add(t.path)
	for _, p := range t.query {
		add(p.value)
	}
	return out
}
