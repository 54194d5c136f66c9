package config

import (
	"net/url"
	"reflect"
	"time"

	"go.yaml.in/yaml/v4"

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

func (m *MCPServers) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must map names to servers, not %s", path, what(n))
		return
	}
	for _, f := range n.fields {
		p := join(path, f.key)
		if !isName(f.key, 32) {
			d.rep.addf(problem.BadName, f.at, "mcp server name %q: use letters, digits, _ and -, 32 at the most, a letter or digit first", clip(f.key))
		}
		if f.val.isNull() {
			f.val = &node{kind: yaml.MappingNode, at: f.at}
		}
		s := MCPServer{Name: f.key, Pos: f.at, StartTimeout: mcpStartTimeout}
		d.into(f.val, &s, p)
		if at := f.val.find("dir"); s.Dir != "" && at != nil {
			s.Dir = d.src.resolve(s.Dir, at.val.at)
		}
		*m = append(*m, s)
	}
}

func (a *MCPAllow) fromNode(d *decoder, n *node, path string) {
	switch {
	case n.isNull():
	case n.kind == yaml.SequenceNode:
		for _, item := range n.items {
			if name, ok := d.text(item, path); ok {
				a.add(d, item.at, path, MCPTool{Name: name, Confirm: true})
			}
		}
	case n.kind == yaml.MappingNode:
		for _, f := range n.fields {
			t := MCPTool{Name: f.key, Confirm: true}
			d.value(f.val, reflect.ValueOf(&t).Elem(), join(path, f.key), rules{})
			a.add(d, f.at, path, t)
		}
	default:
		d.rep.addf(problem.WrongType, n.at, "%s must be a list of tools or a mapping of them, such as {read_file: {confirm: false}}, not %s", path, what(n))
	}
}

func (a *MCPAllow) add(d *decoder, at Pos, path string, t MCPTool) {
	if t.Name == "" {
		d.rep.addf(problem.BadName, at, "%s: the name of a tool is empty", path)
		return
	}
	for _, have := range *a {
		if have.Name == t.Name {
			d.rep.addf(problem.Conflict, at, "%s: %q is listed twice", path, clip(t.Name))
			return
		}
	}
	*a = append(*a, t)
}

// mcp finds servers that can't be reached as they are described.
func (c *checker) mcp() {
	if len(c.cfg.MCP.Servers) == 0 || !c.known(c.root.get("mcp").at, "mcp", "mcp", knownTools(), c.opts.ToolKinds) {
		return
	}
	servers := c.root.find("mcp.servers").val
	for _, s := range c.cfg.MCP.Servers {
		path := "mcp.servers." + s.Name
		n := servers.get(s.Name).val
		at := func(key string) Pos {
			if f := n.get(key); f != nil {
				return f.val.at
			}
			return s.Pos
		}
		given := func(key string) bool { return n.get(key) != nil || n.get(key+"_file") != nil }
		switch {
		case !given("command") && !given("url"):
			c.rep.addf(problem.Missing, s.Pos, "%s needs a command that is a server, or the url of one", clip(path))
		case given("command") && given("url"):
			c.rep.addf(problem.Conflict, at("command"), "%s has both command and url; keep one", clip(path))
		case given("command") && n.get("command").val.kind == yaml.SequenceNode && (len(s.Command) == 0 || s.Command[0] == ""):
			c.rep.addf(problem.Missing, at("command"), "%s.command names no program; write [program, argument, …]", clip(path))
		case given("url") && !s.URL.Empty():
			c.mcpURL(s, at("url"), clip(path))
		}
		for key, other := range map[string]string{"env": "url", "dir": "url", "headers": "command"} {
			if n.get(key) != nil && given(other) {
				c.rep.addf(problem.Conflict, at(key), "%s.%s has no meaning beside %s", clip(path), key, other)
			}
		}
		for _, header := range sortedKeys(s.Headers) {
			if !isHeader(header, s.Headers[header].Reveal()) {
				c.rep.addf(problem.ToolURL, at("headers"), "%s.headers: %q is no valid header", clip(path), clip(header))
			}
		}
		if s.StartTimeout <= 0 {
			c.rep.addf(problem.Range, at("start_timeout"), "%s.start_timeout: must be longer than 0", clip(path))
		}
	}
}

func (c *checker) mcpURL(s MCPServer, at Pos, path string) {
	u, err := url.Parse(s.URL.Reveal())
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		c.rep.addf(problem.Address, at, "%s.url: must be a URL that begins with https:// or http://", path)
	case u.User != nil:
		c.rep.addf(problem.Address, at, "%s.url: holds credentials; put them in headers", path)
	}
}
