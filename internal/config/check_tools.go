package config

import (
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/internal/problem"
)

// fetch checks the form of each entry; internal/egress gives them meaning.
func (c *checker) fetch() {
	for _, entry := range c.cfg.Fetch.Allow {
		host := entry
		if h, port, err := net.SplitHostPort(entry); err == nil {
			host = h
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				c.badf(problem.Fetch, "fetch.allow", "%q has no valid port", clip(entry))
				continue
			}
		}
		host = strings.TrimPrefix(host, "*.")
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && (host == "" || strings.ContainsAny(host, "/:@*? ")) {
			c.badf(problem.Fetch, "fetch.allow", "%q is no host; write host, host:port, *.host or an address, without https://", clip(entry))
		}
	}
}

func (c *checker) tools() {
	c.mcp()
	if len(c.cfg.Tools.Scripts) > 0 {
		c.known(c.at("tools.scripts"), "tools.scripts", "script", knownTools(), c.opts.ToolKinds)
	}
	root := c.root.get("tools")
	for _, t := range c.cfg.Tools.Named {
		f := root.val.get(t.Name)
		c.tool(t, f.val, "tools."+clip(t.Name))
	}
}

// tool checks one declared tool; n is its section.
func (c *checker) tool(t Tool, n *node, path string) {
	at := func(key string) Pos {
		if f := n.find(key); f != nil {
			return f.val.at
		}
		return t.Pos
	}
	if !isToolName(t.Name) {
		c.rep.addf(problem.BadName, t.Pos, "tool name %q: models take letters, digits, _ and - only, 64 at the most", clip(t.Name))
	}
	var kinds []string
	for _, k := range []string{"http", "sql"} {
		if n.get(k) != nil {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 0:
		c.rep.addf(problem.ToolKind, t.Pos, "%s says what it is but not what it does: give it http or sql (or declare it in a script)", path)
	case 1:
		c.known(n.get(kinds[0]).at, path, kinds[0], knownTools(), c.opts.ToolKinds)
	default:
		c.rep.addf(problem.ToolKind, t.Pos, "%s has both %s; a tool does one thing", path, strings.Join(kinds, " and "))
	}
	if t.Description == "" && n.get("description") != nil {
		c.rep.addf(problem.Missing, at("description"), "%s.description is empty: a model chooses tools by it", path)
	}
	props := c.schema(t, path, at("schema"))
	c.labels(t, n, path, props)
	if t.ConfirmWhen.Text != "" && n.get("confirm") != nil {
		c.rep.addf(problem.Conflict, at("confirm"), "%s: both confirm and confirm_when are given; keep one", path)
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
		c.rep.addf(problem.ToolSchema, at, "%s.schema must be a JSON Schema of an object, such as {type: object, properties: {…}}", path)
		return nil
	}
	if s.Type != nil && string(s.Type) != `"object"` {
		c.rep.addf(problem.ToolSchema, at, "%s.schema: arguments are an object; its type must be object", path)
	}
	return s.Properties
}

// labels finds those of arguments that don't exist: a typing mistake.
func (c *checker) labels(t Tool, n *node, path string, props map[string]json.RawMessage) {
	f := n.get("labels")
	if f == nil || len(props) == 0 {
		return
	}
	whole := string(t.Schema)
	for _, l := range f.val.fields {
		// Labels apply within list items too, so any depth counts.
		if !strings.Contains(whole, string(quote(l.key))) {
			c.rep.addf(problem.ToolArgs, l.at, "%s.labels: no argument is called %q%s", path, clip(l.key), didYouMean(l.key, sortedKeys(props)))
		}
	}
}

func (c *checker) http(t Tool, n *node, path string, props map[string]json.RawMessage) {
	h := n.get("http").val
	at := func(key string) Pos {
		if f := h.get(key); f != nil {
			return f.val.at
		}
		return h.at
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	if t.HTTP.Method != "" && !slices.Contains(methods, t.HTTP.Method) {
		c.rep.addf(problem.NotAllowed, at("method"), "%s.http.method: %q is not allowed%s", path, clip(t.HTTP.Method), didYouMean(t.HTTP.Method, methods))
	}
	if t.HTTP.URL != "" {
		c.toolURL(t.HTTP.URL, path+".http.url", at("url"))
	}
	for _, header := range sortedKeys(t.HTTP.Headers) {
		if !isHeader(header, t.HTTP.Headers[header].Reveal()) {
			c.rep.addf(problem.NotAllowed, at("headers"), "%s.http.headers: %q is no valid header", path, clip(header))
		}
	}
	c.bind(t.HTTP.Bind, h, path+".http", props)
}

// bind checks what the server puts in; h is the section with the key bind.
func (c *checker) bind(bind map[string]string, h *node, path string, props map[string]json.RawMessage) {
	for _, arg := range sortedKeys(bind) {
		where := h.at
		if f := h.find("bind." + arg); f != nil {
			where = f.val.at
		}
		if _, shown := props[arg]; shown {
			c.rep.addf(problem.ToolArgs, where, "%s.bind: %q is an argument of the schema too; what the server binds must be out of the model's reach", path, clip(arg))
		}
		if !isIdentity(bind[arg]) {
			c.rep.addf(problem.ToolArgs, where, "%s.bind: %q is not known%s", path, clip(bind[arg]), didYouMean(bind[arg], identities()))
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
func (c *checker) sql(t Tool, n *node, path string, props map[string]json.RawMessage) {
	s := n.get("sql").val
	names := sortedKeys(c.cfg.Data)
	switch {
	case len(names) == 0:
		c.rep.addf(problem.Missing, s.at, "%s.sql: there is no data source; add one, such as data: {shop: {url: \"sqlite://shop.db\"}}", path)
	case t.SQL.Source == "" && len(names) > 1:
		c.rep.addf(problem.Missing, s.at, "%s.sql.source is missing: there are several data sources (%s)", path, strings.Join(names, ", "))
	case t.SQL.Source != "" && !slices.Contains(names, t.SQL.Source):
		at := s.at
		if f := s.get("source"); f != nil {
			at = f.val.at
		}
		c.rep.addf(problem.NotAllowed, at, "%s.sql.source: %q is not under data%s", path, clip(t.SQL.Source), didYouMean(t.SQL.Source, names))
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
		c.rep.addf(problem.ToolURL, at, "%s: a {placeholder} can't be part of the host; the model would choose where to connect", path)
		return
	}
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(raw))
	if !ok || err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.rep.addf(problem.ToolURL, at, "%s: must be a URL that begins with https:// or http://", path)
		return
	}
	if u.User != nil {
		c.rep.addf(problem.ToolURL, at, "%s: put credentials in headers, where they are kept secret", path)
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if !allowed(c.cfg.Fetch.Allow, strings.ToLower(u.Hostname()), port) {
		c.rep.addf(problem.Fetch, at, "%s: host %q is not in fetch.allow; add it there (a private address with its port)", path, clip(u.Host))
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
