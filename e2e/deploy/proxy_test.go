//go:build linux

package deploy

import (
	"regexp"
	"strings"
	"testing"
)

// block is a directive of nginx or Caddy that has others within.
type block struct {
	head   string
	lines  []string
	blocks []*block
}

// blocks reads directives that end in end and blocks in braces.
func blocks(t *testing.T, text, end string) *block {
	t.Helper()
	top := &block{}
	stack := []*block{top}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := stack[len(stack)-1]
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case line == "}":
			if len(stack) == 1 {
				t.Fatal("a brace too many")
			}
			stack = stack[:len(stack)-1]
		case strings.HasSuffix(line, "{"):
			b := &block{head: strings.TrimSpace(strings.TrimSuffix(line, "{"))}
			at.blocks = append(at.blocks, b)
			stack = append(stack, b)
		default:
			if !strings.HasSuffix(line, end) && !strings.HasSuffix(line, "}") {
				t.Errorf("%q doesn't end in %q", line, end)
			}
			at.lines = append(at.lines, strings.Join(strings.Fields(strings.TrimSuffix(line, end)), " "))
		}
	}
	if len(stack) != 1 {
		t.Fatalf("%s isn't closed", stack[len(stack)-1].head)
	}
	return top
}

// find is the block with that head, wherever it is.
func (b *block) find(head string) *block {
	for _, c := range b.blocks {
		if c.head == head {
			return c
		}
		if f := c.find(head); f != nil {
			return f
		}
	}
	return nil
}

func (b *block) has(t *testing.T, lines ...string) {
	t.Helper()
	have := "\n" + strings.Join(b.lines, "\n") + "\n"
	for _, line := range lines {
		if !strings.Contains(have, "\n"+line+"\n") {
			t.Errorf("%s: no %q", b.head, line)
		}
	}
}

func TestNginx_KeepsWhatParleyNeeds(t *testing.T) {
	t.Parallel()
	text := read(t, "deploy", "nginx.conf")
	top := blocks(t, text, ";")
	if len(top.blocks) != 3 {
		t.Fatalf("%d blocks", len(top.blocks))
	}
	top.blocks[2].has(t,
		"client_max_body_size 1m", "proxy_http_version 1.1", "proxy_set_header Host $host",
		"proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for", "proxy_set_header X-Forwarded-Proto $scheme",
		"proxy_set_header X-Forwarded-Host $host", `proxy_set_header Connection ""`,
		"location = /metrics { return 404; }", "location = /healthz { return 404; }", "location = /readyz { return 404; }")
	events := top.find("location = /chat/api/events")
	events.has(t, "proxy_buffering off", "proxy_cache off", "gzip off", "proxy_read_timeout 1h")
	// One header of its own would drop all that are inherited.
	for _, b := range top.blocks[2].blocks {
		for _, line := range b.lines {
			if strings.HasPrefix(line, "proxy_set_header") {
				t.Errorf("%s sets a header and loses the others", b.head)
			}
		}
	}
	// A path after the upstream, or a rewrite, changes what was signed.
	passes := regexp.MustCompile(`(?m)^\s*proxy_pass (\S+);`).FindAllStringSubmatch(text, -1)
	for _, m := range passes {
		if m[1] != "http://parley" {
			t.Errorf("proxy_pass %s", m[1])
		}
	}
	if len(passes) != 2 || regexp.MustCompile(`(?m)^\s*(rewrite|sub_filter|set)\s`).MatchString(text) {
		t.Errorf("%d passes, or a rewrite", len(passes))
	}
}

func TestCaddy_KeepsWhatParleyNeeds(t *testing.T) {
	t.Parallel()
	text := read(t, "deploy", "Caddyfile")
	site := blocks(t, text, "").find("bot.example.com")
	site.has(t, "@inside path /metrics /healthz /readyz", "respond @inside 404", "reverse_proxy 127.0.0.1:8080")
	site.find("request_body").has(t, "max_size 1MiB")
	site.find("reverse_proxy /chat/api/events 127.0.0.1:8080").has(t, "flush_interval -1")
	if regexp.MustCompile(`(?m)^\s*(uri|rewrite|handle_path|encode|header_up)\s`).MatchString(text) {
		t.Error("something is rewritten or compressed")
	}
}

func TestReadme_LinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(t, "deploy", "README.md"), -1)
	if len(links) < 8 {
		t.Fatalf("%d links", len(links))
	}
	for _, m := range links {
		path := strings.TrimSuffix(m[1], "/")
		if path == "grafana" {
			continue
		}
		read(t, "deploy", path)
	}
}
