package config

import (
	"encoding/json"
	"io/fs"
	"net/netip"
	"time"

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/secret"
)

// Config is a whole configuration: defaults filled in, checked.
type Config struct {
	// Source is the file it was read from, as it was named.
	Source string `yaml:"-"`
	// Demo is true where it is the one built into the program.
	Demo bool `yaml:"-"`

	Server  Server  `yaml:"server"`
	Store   Store   `yaml:"store"`
	Bot     Bot     `yaml:"bot"`
	Model   Model   `yaml:"model"`
	Loop    Loop    `yaml:"loop"`
	Confirm Confirm `yaml:"confirm"`
	Tools   Tools   `yaml:"tools"`
	MCP     MCP     `yaml:"mcp"`
	Fetch   Fetch   `yaml:"fetch"`
	// Data are the databases of tools, by name.
	Data   map[string]DataSource `yaml:"data"`
	Audit  Audit                 `yaml:"audit"`
	Limits Limits                `yaml:"limits"`
	Outbox Outbox                `yaml:"outbox"`
	Alerts Alerts                `yaml:"alerts"`
	Locale Texts                 `yaml:"locale"`
	Log    Log                   `yaml:"log"`
	// Secrets are what scripts may ask for by name.
	Secrets map[string]secret.String `yaml:"secrets"`
	// Channels are in the order of the file.
	Channels Channels `yaml:"channels"`

	src tree.Source
}

// FS is where the files named by the configuration are, with the same names:
// the embedded tree, or nil for the disk.
func (c *Config) FS() fs.FS { return c.src.FS }

// ReadFile reads a file that the configuration names (a script of
// Tools.Scripts, Model.Script), of limit bytes at the most.
func (c *Config) ReadFile(name string, limit int64) ([]byte, error) { return c.src.Read(name, limit) }

// Server is the HTTP side.
type Server struct {
	// Listen is host:port; the default is 127.0.0.1:8080.
	Listen string `yaml:"listen"`
	// PublicURL is how platforms reach the server, without a trailing slash.
	PublicURL string `yaml:"public_url"`
	// TrustedProxies are peers whose X-Forwarded-For is believed.
	TrustedProxies []Prefix `yaml:"trusted_proxies"`
	// AdminToken opens the operator's page and the API; they are off
	// without it.
	AdminToken secret.String `yaml:"admin_token"`
	// MetricsListen gives /metrics a listener of its own.
	MetricsListen string `yaml:"metrics_listen"`
	// ShutdownTimeout bounds an orderly stop; the default is 20s.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout"`
}

// Proxies are TrustedProxies as the standard library's type.
func (s Server) Proxies() []netip.Prefix {
	out := make([]netip.Prefix, len(s.TrustedProxies))
	for i, p := range s.TrustedProxies {
		out[i] = p.Prefix
	}
	return out
}

// Store is where everything is kept.
type Store struct {
	// URL is sqlite://FILE, and postgres://… where the build has it; it may
	// hold a password. The default is sqlite://data/parley.db, relative to
	// the working directory.
	URL secret.String `yaml:"url"`
	// UnsafeFS allows SQLite on a network file system.
	UnsafeFS bool `yaml:"unsafe_fs"`
	// Retention is how long rows are kept; 0 is for ever.
	Retention Retention `yaml:"retention"`
}

// Retention is how long each kind of row is kept; 0 is for ever.
type Retention struct {
	// Messages is the content of a received message, after it was worked on.
	Messages time.Duration `yaml:"messages"` // 168h
	// Dedupe is a received message's identity, against repetition.
	Dedupe  time.Duration `yaml:"dedupe"`  // 720h
	Outbox  time.Duration `yaml:"outbox"`  // 720h, after it left
	Turns   time.Duration `yaml:"turns"`   // 720h, calls and questions too
	Unknown time.Duration `yaml:"unknown"` // 4320h, calls of unknown outcome
	Audit   time.Duration `yaml:"audit"`   // 0
	Log     time.Duration `yaml:"log"`     // 0
	History time.Duration `yaml:"history"` // 0
}

// Bot is who answers.
type Bot struct {
	Name string `yaml:"name"`
	// Lang is a BCP 47 tag; the default is en.
	Lang    string  `yaml:"lang"`
	Persona string  `yaml:"persona" config:"text"`
	History History `yaml:"history"`
	// Stream shows answers while they are written, where the bot has no tools.
	Stream bool `yaml:"stream"` // true
}

// History bounds what of a chat a model is told; whole turns are left out.
type History struct {
	Messages int `yaml:"messages"` // 40
	Tokens   int `yaml:"tokens"`   // 8000, estimated
}

// Model is one language model.
type Model struct {
	Provider string        `yaml:"provider" config:"required"`
	Name     string        `yaml:"name"`
	APIKey   secret.String `yaml:"api_key"`
	// BaseURL ends in /v1 for openai and its presets, and is the bare root
	// for the others.
	BaseURL string `yaml:"base_url"`
	// Timeout bounds one call (30s); Deadline the retries and back-off of a
	// failing chain (30s; only the first model's counts).
	Timeout   time.Duration `yaml:"timeout"`
	Deadline  time.Duration `yaml:"deadline"`
	MaxTokens int           `yaml:"max_tokens"` // 1024
	// Script is the rule file of provider script, for Config.ReadFile.
	Script   string  `yaml:"script"`
	Fallback []Model `yaml:"fallback"`
}

// Loop is the tool loop.
type Loop struct {
	MaxSteps     int           `yaml:"max_steps"`     // 5
	ToolTimeout  time.Duration `yaml:"tool_timeout"`  // 15s; 0 is none
	TurnDeadline time.Duration `yaml:"turn_deadline"` // 10m
	// MaxStepsMessage replaces the text ai.tools.maxSteps.
	MaxStepsMessage string `yaml:"max_steps_message" config:"text"`
}

// Confirm is how a person is asked.
type Confirm struct {
	Timeout time.Duration `yaml:"timeout"` // 2m
	Buttons bool          `yaml:"buttons"` // true
	// Yes and No replace the built-in words, the others add to them.
	Yes    []string `yaml:"yes"`
	No     []string `yaml:"no"`
	YesAdd []string `yaml:"yes_add"`
	NoAdd  []string `yaml:"no_add"`

	AnsweredNotice bool       `yaml:"answered_notice"` // false
	ExpiredNotice  bool       `yaml:"expired_notice"`  // true
	SystemNote     SystemNote `yaml:"system_note"`
	AnswerBy       AnswerBy   `yaml:"answer_by"`
}

// Fetch is where tools may connect to.
type Fetch struct {
	// Allow lists host, host:port, *.host, address or address:port.
	Allow []string `yaml:"allow"`
}

// Audit is where the events go beside the store.
type Audit struct {
	// File is JSON lines; relative to the working directory. "" is off.
	File    string       `yaml:"file"`
	Webhook AuditWebhook `yaml:"webhook"`
	// Redact are dotted paths into an event: args.card, args.items.*.note.
	Redact []string `yaml:"redact"`
	// RedactMode is mask (default: the value reads ***) or drop.
	RedactMode string `yaml:"redact_mode" config:"oneof=mask|drop"`
}

// AuditWebhook is posted signed batches of events. URL "" is off.
type AuditWebhook struct {
	URL    string        `yaml:"url"`
	Secret secret.String `yaml:"secret"`
}

// Limits bound what people can ask of the process.
type Limits struct {
	PerUser      Rate `yaml:"per_user"`       // 20/1m
	QueuePerChat int  `yaml:"queue_per_chat"` // 50
	Workers      int  `yaml:"workers"`        // 64
	MessageBytes Size `yaml:"message_bytes"`  // 16KiB
	ScriptMemory Size `yaml:"script_memory"`  // 64MiB, of one runtime
	ScriptCalls  int  `yaml:"script_calls"`   // 16, of one module at once
}

// Outbox is how long replies are tried.
type Outbox struct {
	MaxAge time.Duration `yaml:"max_age"` // 24h
}

// Alerts is who is told of channels that don't work.
type Alerts struct {
	// Chat is CHANNEL:CHAT; "" is nobody.
	Chat string `yaml:"chat"`
	// After is how long a channel may be away that may come back by itself.
	After time.Duration `yaml:"after"` // 1m
}

// Log is the process's own log, on standard error.
type Log struct {
	Level  string `yaml:"level" config:"oneof=debug|info|warn|error"` // info
	Format string `yaml:"format" config:"oneof=text|json"`            // text
}

// HTTPTool is a tool that is one HTTP request.
type HTTPTool struct {
	Method string `yaml:"method"` // GET, HEAD, POST, PUT, PATCH or DELETE; GET
	// URL may hold {name} placeholders past its host.
	URL string `yaml:"url" config:"required"`
	// Headers may hold credentials, and {name} placeholders.
	Headers map[string]secret.String `yaml:"headers"`
	Auth    HTTPAuth                 `yaml:"auth"`
	// Body, where given, is sent instead of the arguments; its texts may hold
	// {name} placeholders.
	Body Body `yaml:"body"`
	// Encoding of the body; "" is json.
	Encoding string `yaml:"encoding" config:"oneof=json|form"`
	// Bind maps a name to what the server puts there: user.id, user.name,
	// user.claims.NAME, chat.key, channel, call.id.
	Bind map[string]string `yaml:"bind"`
	// Result is a JSON pointer into the answer (/data/items), or a JavaScript
	// expression over body, status, headers, args and ctx.
	Result Code     `yaml:"result"`
	Status Statuses `yaml:"status"`
}

// HTTPAuth is how a request proves whose it is; one of them at the most.
type HTTPAuth struct {
	Bearer secret.String `yaml:"bearer"`
	Basic  *BasicAuth    `yaml:"basic"`
	HMAC   *HMACAuth     `yaml:"hmac"`
}

// BasicAuth is a user name and a password.
type BasicAuth struct {
	User     string        `yaml:"user" config:"required"`
	Password secret.String `yaml:"password" config:"required"`
}

// HMACAuth signs the body with HMAC-SHA256, in hex.
type HMACAuth struct {
	Secret secret.String `yaml:"secret" config:"required"`
	Header string        `yaml:"header"` // X-Signature
	Prefix string        `yaml:"prefix"` // before the hex, such as sha256=
}

// SQLTool is a tool that is one SQL statement.
type SQLTool struct {
	// Source is a name under data; "" is the only one.
	Source string `yaml:"source"`
	// Query has :name parameters: arguments, and what is bound.
	Query string `yaml:"query" config:"required,text"`
	// Bind is as HTTPTool.Bind.
	Bind map[string]string `yaml:"bind"`
	// Result is what of the answer the model gets; "" is rows.
	Result  string `yaml:"result" config:"oneof=rows|row|value"`
	MaxRows int    `yaml:"max_rows"` // 0 is 100
}

// DataSource is a database that SQL tools and scripts use.
type DataSource struct {
	// URL is sqlite://FILE, relative to the working directory, or
	// postgres://…
	URL secret.String `yaml:"url" config:"required"`
	// MaxConns is how many statements run at once; 0 is 4.
	MaxConns int `yaml:"max_conns"`
}

// Tool is a tool declared in the configuration.
type Tool struct {
	Name string `yaml:"-"`
	Pos  Pos    `yaml:"-"`

	Title       string `yaml:"title"`
	Description string `yaml:"description" config:"text,required"`
	// Schema is JSON Schema; nil takes no arguments. Keys keep their order.
	Schema json.RawMessage              `yaml:"schema"`
	Labels map[string]map[string]string `yaml:"labels"`

	Confirm bool `yaml:"confirm"`
	// The confirm_… are JavaScript expressions over args and ctx;
	// ConfirmMessage is a text where it holds no expression.
	ConfirmWhen    Code `yaml:"confirm_when"`
	ConfirmLines   Code `yaml:"confirm_lines"`
	ConfirmMessage Code `yaml:"confirm_message"`

	Dedupe Dedupe `yaml:"dedupe"`
	// Timeout nil is Loop.ToolTimeout, 0 is none.
	Timeout *time.Duration `yaml:"timeout"`
	// Effect "" is the kind's own default.
	Effect string `yaml:"effect" config:"oneof=read|idempotent|unsafe"`

	HTTP *HTTPTool `yaml:"http"`
	SQL  *SQLTool  `yaml:"sql"`

	node *tree.Node
}

// Place is where a dotted path within the tool's section is configured, such
// as http.auth.basic, or the nearest part of it.
func (t Tool) Place(path string) Pos {
	if f := t.node.Find(path); f != nil && f.At.Line > 0 {
		return f.At
	}
	return t.Pos
}

// Tools are scripts and declared tools, both in the order of the file.
type Tools struct {
	// Scripts are module files, for Config.ReadFile.
	Scripts []string
	Named   []Tool
}

func defaults() *Config {
	return &Config{
		Server: Server{Listen: "127.0.0.1:8080", ShutdownTimeout: 20 * time.Second},
		Store: Store{URL: secret.New("sqlite://data/parley.db"), Retention: Retention{
			Messages: 7 * 24 * time.Hour, Dedupe: 30 * 24 * time.Hour, Outbox: 30 * 24 * time.Hour,
			Turns: 30 * 24 * time.Hour, Unknown: 180 * 24 * time.Hour,
		}},
		Bot:  Bot{Name: "parley", Lang: "en", Stream: true, History: History{Messages: 40, Tokens: 8000}},
		Loop: Loop{MaxSteps: 5, ToolTimeout: 15 * time.Second, TurnDeadline: 10 * time.Minute},
		Confirm: Confirm{
			Timeout: 2 * time.Minute, Buttons: true, ExpiredNotice: true,
			SystemNote: SystemNote{On: true}, AnswerBy: AnswerBy{Who: Requester},
		},
		Audit:  Audit{RedactMode: "mask"},
		Limits: Limits{PerUser: Rate{N: 20, Per: time.Minute}, QueuePerChat: 50, Workers: 64, MessageBytes: 16 << 10, ScriptMemory: 64 << 20, ScriptCalls: 16},
		Outbox: Outbox{MaxAge: 24 * time.Hour},
		Alerts: Alerts{After: time.Minute},
		Log:    Log{Level: "info", Format: "text"},
	}
}

// withDefaults fills in what a model leaves out.
func (m Model) withDefaults() Model {
	if m.Timeout == 0 {
		m.Timeout = 30 * time.Second
	}
	if m.Deadline == 0 {
		m.Deadline = 30 * time.Second
	}
	if m.MaxTokens == 0 {
		m.MaxTokens = 1024
	}
	for i, f := range m.Fallback {
		m.Fallback[i] = f.withDefaults()
	}
	return m
}
