package config

import (
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

// fetch checks the form of each entry; internal/egress gives them meaning.
func (c *checker) fetch() {
	for _, entry := range c.cfg.Fetch.Allow {
		host := entry
		if h, port, err := net.SplitHostPort(entry); err == nil {
			host = h
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				c.badf(problem.Fetch, "fetch.allow", "%q has no valid port", tree.Clip(entry))
				continue
			}
		}
		host = strings.TrimPrefix(host, "*.")
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && (host == "" || strings.ContainsAny(host, "/:@*? ")) {
			c.badf(problem.Fetch, "fetch.allow", "%q is no host; write host, host:port, *.host or an address, without https://", tree.Clip(entry))
		}
	}
}

func (c *checker) tools() {
	c.mcp()
	if len(c.cfg.Tools.Scripts) > 0 {
		c.known(c.at("tools.scripts"), "tools.scripts", "script", knownTools(), c.opts.ToolKinds)
	}
	root := c.root.Get("tools")
	for _, t := range c.cfg.Tools.Named {
		f := root.Val.Get(t.Name)
		c.tool(t, f.Val, "tools."+tree.Clip(t.Name))
	}
}

// tool checks one declared tool; n is its section.
func (c *checker) tool(t Tool, n *tree.Node, path string) {
	at := func(key string) Pos {
		if f := n.Find(key); f != nil {
			return f.Val.At
		}
		return t.Pos
	}
	if !isToolName(t.Name) {
		c.rep.Addf(problem.BadName, t.Pos, "tool name %q: models take letters, digits, _ and - only, 64 at the most", tree.Clip(t.Name))
	}
	var kinds []string
	for _, k := range []string{"http", "sql"} {
		if n.Get(k) != nil {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 0:
		c.rep.Addf(problem.ToolKind, t.Pos, "%s says what it is but not what it does: give it http or sql (or declare it in a script)", path)
	case 1:
		c.known(n.Get(kinds[0]).At, path, kinds[0], knownTools(), c.opts.ToolKinds)
	default:
		c.rep.Addf(problem.ToolKind, t.Pos, "%s has both %s; a tool does one thing", path, strings.Join(kinds, " and "))
	}
	if t.Description == "" && n.Get("description") != nil {
		c.rep.Addf(problem.Missing, at("description"), "%s.description is empty: a model chooses tools by it", path)
	}
	props := c.schema(t, path, at("schema"))
	c.labels(t, n, path, props)
	if t.ConfirmWhen.Text != "" && n.Get("confirm") != nil {
		c.rep.Addf(problem.Conflict, at("confirm"), "%s: both confirm and confirm_when are given; keep one", path)
	}
	if t.HTTP != nil {
		c.http(t, n, path, props)
	}
	if t.SQL != nil {
		c.sql(t, n, path, props)
	}
}

func isToolName(s string) bool {
	ok := func(r rune) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !ok(r) })
}

// schema checks that a schema is one of an object, and tells its arguments;
// nil where it has none that could be told. What it means is the validator's.
func (c *checker) schema(t Tool, path string, at Pos) map[string]json.RawMessage {
	if t.Schema == nil {
		return nil
	}
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(t.Schema, &s); err != nil {
		c.rep.Addf(problem.ToolSchema, at, "%s.schema must be a JSON Schema of an object, such as {type: object, properties: {…}}", path)
		return nil
	}
	if s.Type != nil && string(s.Type) != `"object"` {
		c.rep.Addf(problem.ToolSchema, at, "%s.schema: arguments are an object; its type must be object", path)
	}
	return s.Properties
}

// labels finds those of arguments that don't exist: a typing mistake.
func (c *checker) labels(t Tool, n *tree.Node, path string, props map[string]json.RawMessage) {
	f := n.Get("labels")
	if f == nil || len(props) == 0 {
		return
	}
	whole := string(t.Schema)
	for _, l := range f.Val.Fields {
		// Labels apply within list items too, so any depth counts.
		if !strings.Contains(whole, string(decode.Quote(l.Key))) {
			c.rep.Addf(problem.ToolArgs, l.At, "%s.labels: no argument is called %q%s", path, tree.Clip(l.Key), tree.DidYouMean(l.Key, sortedKeys(props)))
		}
	}
}

func (c *checker) http(t Tool, n *tree.Node, path string, props map[string]json.RawMessage) {
	h := n.Get("http").Val
	at := func(key string) Pos {
		if f := h.Get(key); f != nil {
			return f.Val.At
		}
		return h.At
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	if t.HTTP.Method != "" && !slices.Contains(methods, t.HTTP.Method) {
		c.rep.Addf(problem.NotAllowed, at("method"), "%s.http.method: %q is not allowed%s", path, tree.Clip(t.HTTP.Method), tree.DidYouMean(t.HTTP.Method, methods))
	}
	if t.HTTP.URL != "" {
		c.toolURL(t.HTTP.URL, path+".http.url", at("url"))
	}
	for _, header := range sortedKeys(t.HTTP.Headers) {
		if !isHeader(header, t.HTTP.Headers[header].Reveal()) {
			c.rep.Addf(problem.NotAllowed, at("headers"), "%s.http.headers: %q is no valid header", path, tree.Clip(header))
		}
	}
	c.bind(t.HTTP.Bind, h, path+".http", props)
}

// bind checks what the server puts in; h is the section with the key bind.
func (c *checker) bind(bind map[string]string, h *tree.Node, path string, props map[string]json.RawMessage) {
	for _, arg := range sortedKeys(bind) {
		where := h.At
		if f := h.Find("bind." + arg); f != nil {
			where = f.Val.At
		}
		if _, shown := props[arg]; shown {
			c.rep.Addf(problem.ToolArgs, where, "%s.bind: %q is an argument of the schema too; what the server binds must be out of the model's reach", path, tree.Clip(arg))
		}
		if !isIdentity(bind[arg]) {
			c.rep.Addf(problem.ToolArgs, where, "%s.bind: %q is not known%s", path, tree.Clip(bind[arg]), tree.DidYouMean(bind[arg], identities()))
		}
	}
}

// data checks the form of each data source's address.
func (c *checker) data() {
	for _, name := range sortedKeys(c.cfg.Data) {
		path := "data." + name
		if !isName(name, 63) || strings.Contains(name, "-") {
			c.badf(problem.BadName, path, "a data source is named by letters, digits and _, a letter or digit first")
		}
		d := c.cfg.Data[name]
		url := d.URL.Reveal()
		file, lite := strings.CutPrefix(url, "sqlite://")
		switch {
		case url == "": // reported as missing
		case lite && file == "":
			c.badf(problem.Address, path+".url", "names no file; write sqlite://shop.db")
		case !lite && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
			c.badf(problem.Address, path+".url", "must begin with sqlite:// or postgres://")
		}
		if d.MaxConns < 0 {
			c.badf(problem.Range, path+".max_conns", "must be at least 1")
		}
	}
}

// sql finds the data source of a tool; what is in the statement is
// internal/tool/sql's.
func (c *checker) sql(t Tool, n *tree.Node, path string, props map[string]json.RawMessage) {
	s := n.Get("sql").Val
	names := sortedKeys(c.cfg.Data)
	switch {
	case len(names) == 0:
		c.rep.Addf(problem.Missing, s.At, "%s.sql: there is no data source; add one, such as data: {shop: {url: \"sqlite://shop.db\"}}", path)
	case t.SQL.Source == "" && len(names) > 1:
		c.rep.Addf(problem.Missing, s.At, "%s.sql.source is missing: there are several data sources (%s)", path, strings.Join(names, ", "))
	case t.SQL.Source != "" && !slices.Contains(names, t.SQL.Source):
		at := s.At
		if f := s.Get("source"); f != nil {
			at = f.Val.At
		}
		c.rep.Addf(problem.NotAllowed, at, "%s.sql.source: %q is not under data%s", path, tree.Clip(t.SQL.Source), tree.DidYouMean(t.SQL.Source, names))
	}
	c.bind(t.SQL.Bind, s, path+".sql", props)
}

// isHeader follows RFC 9110 §5: the name is a token, the value has no line
// break or other control character.
func isHeader(key, value string) bool {
	badKey := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	badValue := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return key != "" && !strings.ContainsFunc(key, badKey) && !strings.ContainsFunc(value, badValue)
}

func identities() []string {
	return []string{"user.id", "user.name", "user.claims.NAME", "chat.key", "channel", "call.id"}
}

func isIdentity(s string) bool {
	claim, ok := strings.CutPrefix(s, "user.claims.")
	return ok && claim != "" || !ok && s != "user.claims.NAME" && slices.Contains(identities(), s)
}

// toolURL checks a URL whose host is constant against the allow-list.
func (c *checker) toolURL(raw, path string, at Pos) {
	scheme, rest, ok := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	if strings.Contains(scheme+host, "{") {
		c.rep.Addf(problem.ToolURL, at, "%s: a {placeholder} can't be part of the host; the model would choose where to connect", path)
		return
	}
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(raw))
	if !ok || err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.rep.Addf(problem.ToolURL, at, "%s: must be a URL that begins with https:// or http://", path)
		return
	}
	if u.User != nil {
		c.rep.Addf(problem.ToolURL, at, "%s: put credentials in headers, where they are kept secret", path)
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if !allowed(c.cfg.Fetch.Allow, strings.ToLower(u.Hostname()), port) {
		c.rep.Addf(problem.Fetch, at, "%s: host %q is not in fetch.allow; add it there (a private address with its port)", path, tree.Clip(u.Host))
	}
}

// allowed tells whether the allow-list names a host. Whether its address may
// be dialled is only known at the call.
func allowed(allow []string, host, port string) bool {
	return slices.ContainsFunc(allow, func(entry string) bool {
		name := strings.ToLower(entry)
		if h, p, err := net.SplitHostPort(name); err == nil {
			if p != port {
				return false
			}
			name = h
		}
		if parent, wild := strings.CutPrefix(name, "*."); wild {
			return strings.HasSuffix(host, "."+parent)
		}
		return strings.Trim(name, "[]") == host
	})
}
