package config

import (
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/problem"
)

// checker finds what is well-formed and yet can't work.
type checker struct {
	cfg  *Config
	root *tree.Node
	rep  *tree.Report
	opts Options
}

// at is where a dotted path is configured, or the nearest part of it.
func (c *checker) at(path string) Pos {
	if f := c.root.Find(path); f != nil {
		// The value's place says more than its key's; an override has one only.
		if f.Val.At.Line > 0 || f.Val.At.Origin != "" {
			return f.Val.At
		}
		return f.At
	}
	return c.root.At
}

// has tells whether the file sets path, if wrongly.
func (c *checker) has(path string) bool {
	n := c.root
	for key := range strings.SplitSeq(path, ".") {
		f := n.Get(key)
		if f == nil {
			return false
		}
		n = f.Val
	}
	return !n.IsNull()
}

func (c *checker) badf(id problem.ID, path, format string, args ...any) {
	c.rep.Addf(id, c.at(path), path+": "+format, args...)
}

func (c *checker) check() {
	c.server()
	c.store()
	c.bot()
	c.locale()
	c.limits()
	c.words()
	if f := c.root.Get("model"); f == nil {
		c.rep.Addf(problem.Missing, c.root.At, "model is missing: which language model answers; for example model: {provider: openai, name: gpt-5-mini, api_key: \"${OPENAI_API_KEY}\"}")
	} else {
		c.model(&c.cfg.Model, f.Val, "model")
	}
	c.fetch()
	c.data()
	c.tools()
	c.audit()
	c.channels()
}

func (c *checker) server() {
	s := c.cfg.Server
	c.listen("server.listen", s.Listen)
	if s.MetricsListen != "" {
		c.listen("server.metrics_listen", s.MetricsListen)
	}
	if s.MetricsListen != "" && s.MetricsListen == s.Listen {
		c.badf(problem.Conflict, "server.metrics_listen", "is the same as server.listen; leave it out to serve /metrics there")
	}
	if s.PublicURL != "" {
		c.url("server.public_url", s.PublicURL, "https", "http")
		c.cfg.Server.PublicURL = strings.TrimRight(s.PublicURL, "/")
	}
	if c.cfg.Demo && !loopback(s.Listen) {
		c.badf(problem.DemoAddress, "server.listen", "the built-in demo listens on a loopback address only, such as 127.0.0.1:8080; write a configuration to serve others")
	}
}

func (c *checker) listen(path, addr string) {
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n > 65535 {
		c.badf(problem.Address, path, "must be host:port, such as 127.0.0.1:8080, :8080 or [::1]:8080")
		return
	}
	if strings.ContainsAny(host, "/ @") {
		c.badf(problem.Address, path, "%q is no host name or address", tree.Clip(host))
	}
}

// loopback tells whether only this machine can reach addr.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// url checks an absolute URL without quoting it: it may carry credentials.
func (c *checker) url(path, raw string, schemes ...string) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		c.badf(problem.Address, path, "must be a URL that begins with %s://", strings.Join(schemes, ":// or "))
	}
}

// storeSchemes are what store.url may begin with, in some build.
func storeSchemes() []string { return []string{"sqlite", "postgres"} }

func (c *checker) store() {
	have := c.opts.Stores
	if have == nil {
		have = storeSchemes()
	}
	scheme, rest, _ := strings.Cut(c.cfg.Store.URL.Reveal(), "://")
	if scheme == "postgresql" {
		scheme = "postgres"
	}
	switch {
	case slices.Contains(storeSchemes(), scheme) && !slices.Contains(have, scheme):
		c.badf(problem.Unavailable, "store.url", "%s:// is not available in this build (it has: %s)", scheme, strings.Join(have, ", "))
	case scheme == "sqlite" && rest == "":
		c.badf(problem.StoreURL, "store.url", "names no file; write sqlite://data/parley.db")
	case scheme == "sqlite":
	case scheme == "postgres":
		if parsed, err := url.Parse(c.cfg.Store.URL.Reveal()); err != nil || strings.Trim(parsed.Path, "/") == "" {
			c.badf(problem.StoreURL, "store.url", "must be postgres://user:password@host/database")
		}
	default:
		c.badf(problem.StoreURL, "store.url", "must begin with %s://", strings.Join(have, ":// or "))
	}
}

func (c *checker) bot() {
	if _, err := language.Parse(c.cfg.Bot.Lang); err != nil {
		c.badf(problem.Language, "bot.lang", "%q is no language tag such as en or es-CO", tree.Clip(c.cfg.Bot.Lang))
	}
	c.least("bot.history.messages", c.cfg.Bot.History.Messages, 1)
	c.least("bot.history.tokens", c.cfg.Bot.History.Tokens, 100)
}

// locale checks each text where it stands.
func (c *checker) locale() {
	f := c.root.Get("locale")
	if f == nil || f.Val.Kind != yaml.MappingNode {
		return
	}
	seen := map[language.Tag]string{}
	for _, lang := range f.Val.Fields {
		path := decode.Join("locale", lang.Key)
		tag, err := language.Parse(lang.Key)
		if err != nil || tag == language.Und {
			c.rep.Addf(problem.Language, lang.At, "%s: %q is no language tag such as en or es-CO", path, tree.Clip(lang.Key))
			continue
		}
		if first, twice := seen[tag]; twice {
			c.rep.Addf(problem.Conflict, lang.At, "%s: the same language as locale.%s; keep one", path, tree.Clip(first))
		}
		seen[tag] = lang.Key
		c.texts(lang.Val, path, "")
	}
}

func (c *checker) texts(n *tree.Node, path, prefix string) {
	if n.IsNull() {
		return
	}
	for _, f := range n.Fields {
		key := strings.TrimPrefix(prefix+"."+f.Key, ".")
		switch f.Val.Kind {
		case yaml.MappingNode:
			c.texts(f.Val, path, key)
		case yaml.ScalarNode:
			at := f.At
			err := locale.CheckText(key, f.Val.Value)
			if locale.Known(key) {
				at = f.Val.At
			}
			if err != nil {
				c.rep.Addf(problem.Text, at, "%s: %v", decode.Join(path, key), err)
			}
		default: // reported when it was decoded
		}
	}
}

func (c *checker) least(path string, got, want int) {
	if got < want {
		c.badf(problem.Range, path, "must be at least %d", want)
	}
}

func (c *checker) positive(path string, got time.Duration) {
	if got <= 0 {
		c.badf(problem.Range, path, "must be longer than 0")
	}
}

func (c *checker) limits() {
	c.least("loop.max_steps", c.cfg.Loop.MaxSteps, 1)
	if c.cfg.Loop.MaxSteps > 50 {
		c.badf(problem.Range, "loop.max_steps", "must be 50 at the most, the hard end of a turn")
	}
	c.positive("loop.turn_deadline", c.cfg.Loop.TurnDeadline)
	c.positive("confirm.timeout", c.cfg.Confirm.Timeout)
	c.positive("outbox.max_age", c.cfg.Outbox.MaxAge)
	c.alerts()
	c.positive("server.shutdown_timeout", c.cfg.Server.ShutdownTimeout)
	c.least("limits.queue_per_chat", c.cfg.Limits.QueuePerChat, 1)
	c.least("limits.workers", c.cfg.Limits.Workers, 1)
	if c.cfg.Limits.MessageBytes < 1 || c.cfg.Limits.MessageBytes > 1<<20 {
		c.badf(problem.Range, "limits.message_bytes", "must be between 1 and 1MiB")
	}
	if m := c.cfg.Limits.ScriptMemory; m < 8<<20 || m > 1<<30 {
		c.badf(problem.Range, "limits.script_memory", "must be between 8MiB, which a module with zod needs, and 1GiB")
	}
	c.least("limits.script_calls", c.cfg.Limits.ScriptCalls, 1)
}

// words finds one that would be both a yes and a no, where both are the
// file's; those that clash with built-in words internal/confirm finds.
func (c *checker) words() {
	w, before := c.cfg.Confirm, len(c.rep.List)
	yes := map[string]string{}
	note := func(path string, list []string) {
		for _, one := range list {
			if fold(one) == "" {
				c.badf(problem.Words, path, "%q holds no word", tree.Clip(one))
			}
			yes[fold(one)] = path
		}
	}
	clash := func(path string, list []string) {
		for _, one := range list {
			if fold(one) == "" {
				c.badf(problem.Words, path, "%q holds no word", tree.Clip(one))
			} else if other, both := yes[fold(one)]; both {
				c.badf(problem.Words, path, "%q is in %s too; a word can't be both", tree.Clip(one), other)
			}
		}
	}
	note("confirm.yes", w.Yes)
	note("confirm.yes_add", w.YesAdd)
	clash("confirm.no", w.No)
	clash("confirm.no_add", w.NoAdd)
	if _, err := confirm.NewWords(w.Yes, w.No, w.YesAdd, w.NoAdd); err != nil && len(c.rep.List) == before {
		path, what, _ := strings.Cut(err.Error(), ": ")
		c.badf(problem.Words, path, "%s", what)
	}
}

// fold takes case, accents and punctuation away; an emoji is a word.
func fold(s string) string {
	return strings.Join(strings.FieldsFunc(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.So, r) }), " ")
}

// model checks one model and its fallbacks; n is its place in the file.
func (c *checker) model(m *Model, n *tree.Node, path string) {
	at := func(key string) Pos {
		if f := n.Get(key); f != nil {
			return f.Val.At
		}
		return n.At
	}
	if !c.known(at("provider"), path+".provider", m.Provider, knownProviders(), c.opts.Providers) {
		return
	}
	i := slices.IndexFunc(Presets(), func(p Preset) bool { return p.Name == m.Provider })
	keyless := m.Provider == "ollama" || m.Provider == "script" || i >= 0 && Presets()[i].Keyless
	given := func(key string) bool { return n.Get(key) != nil }
	switch {
	case m.Provider == "script":
		c.script(m, n, path, at)
	case m.Name == "" && !given("name"):
		c.rep.Addf(problem.Missing, n.At, "%s.name is missing: the model to use", path)
	}
	if i >= 0 && Presets()[i].BaseURL == "" && m.BaseURL == "" && !given("base_url") {
		c.rep.Addf(problem.Missing, n.At, "%s.base_url is missing: provider %s has an address of your own", path, m.Provider)
	}
	// A server of one's own may want no key.
	if !keyless && m.BaseURL == "" && m.APIKey.Empty() && !given("api_key") && !given("api_key_file") {
		c.rep.Addf(problem.Missing, n.At, "%s.api_key is missing (or api_key_file): provider %s wants a key", path, m.Provider)
	}
	if m.BaseURL != "" {
		if u, err := url.Parse(m.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			c.rep.Addf(problem.Address, at("base_url"), "%s.base_url: must be a URL that begins with https:// or http://", path)
		}
	}
	if m.MaxTokens < 1 {
		c.rep.Addf(problem.Range, at("max_tokens"), "%s.max_tokens: must be at least 1", path)
	}
	if f := n.Get("fallback"); f != nil {
		if path != "model" {
			c.rep.Addf(problem.NotAllowed, f.At, "%s.fallback: a fallback has none of its own; list all of them under model.fallback", path)
			return
		}
		for i, item := range f.Val.Items {
			if i < len(m.Fallback) {
				c.model(&m.Fallback[i], item, path+".fallback["+strconv.Itoa(i)+"]")
			}
		}
	}
}

// script resolves the rule file of a scripted model.
func (c *checker) script(m *Model, n *tree.Node, path string, at func(string) Pos) {
	if m.Script == "" {
		if n.Get("script") == nil {
			c.rep.Addf(problem.Missing, n.At, "%s.script is missing: the file with the scripted model's rules", path)
		}
		return
	}
	full := c.cfg.src.Resolve(m.Script, at("script"))
	if err := c.cfg.src.IsFile(full); err != nil {
		c.rep.Addf(problem.FileMissing, at("script"), "%s.script: can't read %s: %s", path, full, tree.Reason(err))
		return
	}
	m.Script = full
}

// known tells whether word is one of known and of have, what this build has.
func (c *checker) known(at Pos, path, word string, known, have []string) bool {
	if have == nil {
		have = known
	}
	switch {
	case word == "":
		return false // reported as missing
	case slices.Contains(have, word):
		return true
	case slices.Contains(known, word):
		sorted := slices.Sorted(slices.Values(have))
		c.rep.Addf(problem.Unavailable, at, "%s: %q is not available in this build (it has: %s)", path, word, strings.Join(sorted, ", "))
	default:
		// The nearest may be one that only another build has.
		c.rep.Addf(problem.NotAllowed, at, "%s: %q is not known%s", path, tree.Clip(word), tree.DidYouMean(word, known))
	}
	return false
}

func (c *checker) audit() {
	a := c.cfg.Audit
	if a.Webhook.URL != "" {
		c.url("audit.webhook.url", a.Webhook.URL, "https", "http")
		if a.Webhook.Secret.Empty() && !c.has("audit.webhook.secret") && !c.has("audit.webhook.secret_file") {
			c.badf(problem.Missing, "audit.webhook", "secret is missing (or secret_file): batches are signed with it")
		}
	}
	for _, p := range a.Redact {
		if _, rest, ok := strings.Cut(p, "."); !ok && p != "args" || ok && (!strings.HasPrefix(p, "args.") || slices.Contains(strings.Split(rest, "."), "")) {
			c.badf(problem.Redact, "audit.redact", "%q is no path into the arguments, such as args.card or args.items.*.note", tree.Clip(p))
		}
	}
}

func (c *checker) channels() {
	for _, ch := range c.cfg.Channels {
		at := ch.Pos
		if f := c.root.Find("channels." + ch.Name + ".kind"); f != nil && f.Key == "kind" {
			at = f.Val.At
		}
		if c.known(at, "channels."+ch.Name+".kind", ch.Kind, knownChannels(), c.opts.ChannelKinds) && c.opts.Channel != nil {
			ch.seen = new(reflect.Value)
			c.rep.Merge(c.opts.Channel(c.cfg, ch))
		}
		c.unknown(ch)
	}
	for _, key := range sortedKeys(c.cfg.Secrets) {
		if c.cfg.Secrets[key].Empty() && !c.has("secrets."+key+"_file") {
			c.badf(problem.Missing, "secrets."+key, "is empty")
		}
	}
}

// unknown refuses what would let in people whom the file seems to keep out, or
// the other way round.
func (c *checker) unknown(ch Channel) {
	path := "channels." + ch.Name
	switch {
	case ch.Unknown == "answer" && ch.Allow != nil:
		c.badf(problem.Conflict, path+".unknown", "answer contradicts %s.allow, which answers only those it lists; leave out allow to answer everybody, or unknown to ignore the others", path)
	case ch.Unknown == "ignore" && ch.Allow == nil && !c.has(path+".allow"):
		c.badf(problem.Conflict, path+".unknown", "ignore needs %s.allow, which lists who is answered; without it everybody is: add allow, or leave out unknown", path)
	}
}
