package config

import (
	"net/url"
	"reflect"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
)

// MCP are servers whose tools the bot may use.
type MCP struct {
	Servers MCPServers `yaml:"servers"`
}

// MCPServer is one of them: a command or a URL.
type MCPServer struct {
	Name string `yaml:"-"`
	Pos  Pos    `yaml:"-"`

	// Command is the program and its arguments.
	Command []string                 `yaml:"command" config:"lines"`
	Env     map[string]secret.String `yaml:"env"`
	// Dir is relative to the file; "" is the working directory.
	Dir string `yaml:"dir"`
	// URL may hold a credential in its query.
	URL     secret.String            `yaml:"url"`
	Headers map[string]secret.String `yaml:"headers"`
	// StartTimeout bounds start, initialization and the list of tools.
	StartTimeout time.Duration `yaml:"start_timeout"` // 30s
	// Allow lists the tools that may be offered; no other is.
	Allow MCPAllow `yaml:"allow"`
}

// MCPTool is an allowed tool.
type MCPTool struct {
	Name string `yaml:"-"` // the server's

	Title   string                       `yaml:"title"`
	Labels  map[string]map[string]string `yaml:"labels"`
	Confirm bool                         `yaml:"confirm"` // true
	Dedupe  Dedupe                       `yaml:"dedupe"`
	// Timeout nil is Loop.ToolTimeout, 0 is none.
	Timeout *time.Duration `yaml:"timeout"`
	Effect  string         `yaml:"effect" config:"oneof=read|idempotent|unsafe"` // unsafe
}

// MCPServers are the servers in the order of the file.
type MCPServers []MCPServer

// MCPAllow are the allowed tools in the order of the file: a list of names, or
// a mapping of names to what the operator says of them.
type MCPAllow []MCPTool

const mcpStartTimeout = 30 * time.Second

// FromNode implements decode.Unmarshaler.
func (m *MCPServers) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must map names to servers, not %s", path, tree.What(n))
		return
	}
	for _, f := range n.Fields {
		p := decode.Join(path, f.Key)
		if !isName(f.Key, 32) {
			d.Rep.Addf(problem.BadName, f.At, "mcp server name %q: use letters, digits, _ and -, 32 at the most, a letter or digit first", tree.Clip(f.Key))
		}
		if f.Val.IsNull() {
			f.Val = &tree.Node{Kind: yaml.MappingNode, At: f.At}
		}
		s := MCPServer{Name: f.Key, Pos: f.At, StartTimeout: mcpStartTimeout}
		d.Into(f.Val, &s, p)
		if at := f.Val.Find("dir"); s.Dir != "" && at != nil {
			s.Dir = d.Src.Resolve(s.Dir, at.Val.At)
		}
		*m = append(*m, s)
	}
}

// FromNode implements decode.Unmarshaler.
func (a *MCPAllow) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	switch {
	case n.IsNull():
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Items {
			if name, ok := d.Text(item, path); ok {
				a.add(d, item.At, path, MCPTool{Name: name, Confirm: true})
			}
		}
	case n.Kind == yaml.MappingNode:
		for _, f := range n.Fields {
			t := MCPTool{Name: f.Key, Confirm: true}
			d.Value(f.Val, reflect.ValueOf(&t).Elem(), decode.Join(path, f.Key), decode.Rules{})
			a.add(d, f.At, path, t)
		}
	default:
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a list of tools or a mapping of them, such as {read_file: {confirm: false}}, not %s", path, tree.What(n))
	}
}

func (a *MCPAllow) add(d *decode.Decoder, at Pos, path string, t MCPTool) {
	if t.Name == "" {
		d.Rep.Addf(problem.BadName, at, "%s: the name of a tool is empty", path)
		return
	}
	for _, have := range *a {
		if have.Name == t.Name {
			d.Rep.Addf(problem.Conflict, at, "%s: %q is listed twice", path, tree.Clip(t.Name))
			return
		}
	}
	*a = append(*a, t)
}

// mcp finds servers that can't be reached as they are described.
func (c *checker) mcp() {
	if len(c.cfg.MCP.Servers) == 0 || !c.known(c.root.Get("mcp").At, "mcp", "mcp", knownTools(), c.opts.ToolKinds) {
		return
	}
	servers := c.root.Find("mcp.servers").Val
	for _, s := range c.cfg.MCP.Servers {
		path := "mcp.servers." + s.Name
		n := servers.Get(s.Name).Val
		at := func(key string) Pos {
			if f := n.Get(key); f != nil {
				return f.Val.At
			}
			return s.Pos
		}
		given := func(key string) bool { return n.Get(key) != nil || n.Get(key+"_file") != nil }
		switch {
		case !given("command") && !given("url"):
			c.rep.Addf(problem.Missing, s.Pos, "%s needs a command that is a server, or the url of one", tree.Clip(path))
		case given("command") && given("url"):
			c.rep.Addf(problem.Conflict, at("command"), "%s has both command and url; keep one", tree.Clip(path))
		case given("command") && n.Get("command").Val.Kind == yaml.SequenceNode && (len(s.Command) == 0 || s.Command[0] == ""):
			c.rep.Addf(problem.Missing, at("command"), "%s.command names no program; write [program, argument, …]", tree.Clip(path))
		case given("url") && !s.URL.Empty():
			c.mcpURL(s, at("url"), tree.Clip(path))
		}
		for key, other := range map[string]string{"env": "url", "dir": "url", "headers": "command"} {
			if n.Get(key) != nil && given(other) {
				c.rep.Addf(problem.Conflict, at(key), "%s.%s has no meaning beside %s", tree.Clip(path), key, other)
			}
		}
		for _, header := range sortedKeys(s.Headers) {
			if !isHeader(header, s.Headers[header].Reveal()) {
				c.rep.Addf(problem.ToolURL, at("headers"), "%s.headers: %q is no valid header", tree.Clip(path), tree.Clip(header))
			}
		}
		if s.StartTimeout <= 0 {
			c.rep.Addf(problem.Range, at("start_timeout"), "%s.start_timeout: must be longer than 0", tree.Clip(path))
		}
	}
}

func (c *checker) mcpURL(s MCPServer, at Pos, path string) {
	u, err := url.Parse(s.URL.Reveal())
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		c.rep.Addf(problem.Address, at, "%s.url: must be a URL that begins with https:// or http://", path)
	case u.User != nil:
		c.rep.Addf(problem.Address, at, "%s.url: holds credentials; put them in headers", path)
	}
}
