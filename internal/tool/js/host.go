package js

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Bounds of one call, against scripts that run away.
const (
	maxTimers  = 1000
	maxFetches = 32 // at once
	maxLogText = 4 << 10
)

// host is what the runtime's own JavaScript calls for all that is outside: it
// answers "=" and a value, or "!" and a message that is thrown.
func (v *vm) host(op, a, b, c string) string {
	answer, err := v.serve(op, a, b, c)
	if err != nil {
		return "!" + v.m.masks.mask(err.Error())
	}
	return "=" + answer
}

func (v *vm) serve(op, a, b, c string) (string, error) {
	switch op {
	case "log":
		v.logLine(a, b)
		return "", nil
	case "uuid":
		return uuid.NewString(), nil
	case "random":
		return randomBytes(a)
	case "clock":
		return strconv.FormatFloat(float64(time.Now().UnixMicro())/1000, 'f', 3, 64), nil
	case "url":
		return parseURL(a, b)
	case "zone":
		return v.zone(a, b)
	case "untimer", "unfetch":
		if v.cur != nil {
			v.cur.forget(a)
		}
		return "", nil
	}
	r := v.cur
	if r == nil {
		return "", errors.New("this works only while a tool runs, not at the top level of a module")
	}
	switch op {
	case "listen":
		r.listens = true
		return "", nil
	case "timer":
		return "", r.addTimer(a, b)
	case "fetch":
		return "", r.fetch(a, b)
	case "source":
		return "", r.m.hasSource(a)
	case "statement":
		return "", r.statement(a, b)
	case "get", "getForUpdate":
		return r.get(a, b, op == "getForUpdate")
	case "set":
		return "", r.store.set(a, b, json.RawMessage(r.m.masks.json(c)))
	case "delete":
		return "", r.store.set(a, b, nil)
	case "list":
		return r.list(a, b)
	case "secret":
		return r.secret(a)
	case "done":
		r.over, r.reply = true, reply{value: a, some: b != ""}
		return "", nil
	case "fail":
		r.over, r.reply = true, reply{failed: true, failure: a, stack: b}
		return "", nil
	case "lost":
		r.over, r.reply = true, reply{failed: true, cut: true, failure: a, stack: b}
		return "", nil
	}
	return "", fmt.Errorf("the host knows no %q", op)
}

func (v *vm) logLine(level, text string) {
	text = v.m.masks.mask(text)
	if len(text) > maxLogText {
		n := maxLogText
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n] + "…"
	}
	if v.cur == nil {
		v.m.log.script(level, text)
		return
	}
	v.m.log.script(level, text, "tool", v.cur.call.Tool, "call_id", v.cur.call.ID)
}

func randomBytes(count string) (string, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > 65536 {
		return "", errors.New("between 0 and 65536 random bytes")
	}
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b), nil
}

// zone gives the offset of a time zone at a second of the epoch, and its
// abbreviation.
func (v *vm) zone(name, seconds string) (string, error) {
	loc := v.m.opts.TimeZone
	if name != "" && name != loc.String() {
		var err error
		if loc, err = time.LoadLocation(name); err != nil {
			return "", fmt.Errorf("there is no time zone %q", name)
		}
	}
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%q is no time", seconds)
	}
	abbreviation, offset := time.Unix(s, 0).In(loc).Zone()
	return fmt.Sprintf("%d %s", offset, abbreviation), nil
}

func (r *run) addTimer(id, ms string) error {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no time to wait", ms)
	}
	if len(r.timers) >= maxTimers {
		return fmt.Errorf("more than %d timers at once", maxTimers)
	}
	const longest = 1<<31 - 1 // as browsers have it
	r.timers[id] = time.Now().Add(time.Duration(min(n, longest)) * time.Millisecond)
	return nil
}

// forget drops a timer or a request that the script no longer waits for. What
// became of that request, nobody hears.
func (r *run) forget(id string) {
	delete(r.timers, id)
	if f, ok := r.fetches[id]; ok {
		f.stop()
		delete(r.fetches, id)
		r.unknown = r.unknown || f.effect
	}
}

func (r *run) secret(name string) (string, error) {
	if r.m.opts.Secret == nil {
		return "", fmt.Errorf("secret: there is no secret named %q", name)
	}
	s, err := r.m.opts.Secret(name)
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	r.m.masks.add(s.Reveal())
	return s.Reveal(), nil
}

// urlParts are the properties of a URL object.
type urlParts struct {
	Href     string `json:"href"`
	Origin   string `json:"origin"`
	Protocol string `json:"protocol"`
	Username string `json:"username"`
	Password string `json:"password"`
	Host     string `json:"host"`
	Hostname string `json:"hostname"`
	Port     string `json:"port"`
	Pathname string `json:"pathname"`
	Search   string `json:"search"`
	Hash     string `json:"hash"`
}

// parseURL takes an address apart as the URL standard does for the schemes
// that tools meet: hosts in lower case, default ports left out, dots resolved.
func parseURL(href, base string) (string, error) {
	u, err := url.Parse(escapeLoose(strings.TrimSpace(href)))
	if err == nil && base != "" {
		var b *url.URL
		if b, err = url.Parse(escapeLoose(strings.TrimSpace(base))); err == nil && b.Scheme == "" {
			err = errors.New("the base is not absolute")
		}
		if err == nil {
			u = b.ResolveReference(u)
		}
	}
	if err != nil {
		return "", err
	}
	defaults := map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
	port, special := defaults[u.Scheme]
	if u.Scheme == "" || special && u.Hostname() == "" {
		return "", errors.New("not an absolute URL")
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || strconv.FormatUint(n, 10) == "") {
		return "", errors.New("not a port")
	}
	if u.Opaque == "" {
		u = u.ResolveReference(&url.URL{RawQuery: u.RawQuery, ForceQuery: u.ForceQuery, Fragment: u.Fragment, RawFragment: u.RawFragment, Path: u.Path, RawPath: u.RawPath})
	}
	host := strings.ToLower(u.Host)
	if special {
		host = strings.TrimSuffix(host, ":"+port)
		if u.Path == "" {
			u.Path = "/"
		}
	}
	u.Host = host
	p := urlParts{Protocol: u.Scheme + ":", Host: host, Hostname: u.Hostname(), Port: u.Port(), Pathname: u.EscapedPath(), Origin: "null"}
	if strings.HasPrefix(host, "[") {
		p.Hostname = "[" + p.Hostname + "]"
	}
	if u.Opaque != "" {
		p.Pathname = u.Opaque
	}
	if special && u.Scheme != "file" {
		p.Origin = u.Scheme + "://" + host
	}
	if u.User != nil {
		p.Username, p.Password, _ = strings.Cut(u.User.String(), ":")
	}
	if u.RawQuery != "" {
		p.Search = "?" + u.RawQuery
	}
	if f := u.EscapedFragment(); f != "" {
		p.Hash = "#" + f
	}
	p.Href = u.String()
	b, err := json.Marshal(p)
	return string(b), err
}

// escapeLoose escapes what people write in addresses although it isn't allowed
// there, as browsers do: blanks, quotes and all beyond ASCII in the path, query
// and fragment.
func escapeLoose(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\t' || c == '\n' || c == '\r':
		case c <= ' ' || c == '"' || c == '<' || c == '>' || c == '`' || c == '{' || c == '}' || c == '\\' && strings.Contains(s[:i], "?"):
			fmt.Fprintf(&b, "%%%02X", c)
		case c == '\\':
			b.WriteByte('/')
		case c >= utf8.RuneSelf && strings.Count(s[:i], "/") > 2:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
