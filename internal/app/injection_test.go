package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/channels"
	sqltool "github.com/parley-bot/parley/internal/tool/sql"
)

// injection is a text that wants to be an instruction, where it comes from, and
// what a model calls that takes it for one.
type injection struct{ Through, Text, Call string }

// till takes payments, and gives the text to who asks for it.
type till struct {
	host string
	mu   sync.Mutex
	paid []string
}

func newTill(t *testing.T, text string) *till {
	t.Helper()
	p := &till{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, text)
			return
		}
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.paid = append(p.paid, string(body))
		p.mu.Unlock()
	}))
	t.Cleanup(s.Close)
	p.host = strings.TrimPrefix(s.URL, "http://")
	return p
}

func (p *till) payments() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.paid...)
}

// furnished is a bot with a till that asks, and a way for the text to come in
// by: a tool that reads it, where it comes by a tool.
func (in injection) furnished(t *testing.T, p *till) (b *bed, reads string) {
	t.Helper()
	head, read := "", ""
	var opts []option
	switch in.Through {
	case "http":
		reads, read = "read_note", fmt.Sprintf("  read_note: {description: Reads. Not for paying., http: {url: \"http://%s/note\"}}\n", p.host)
	case "sql":
		url, s := database(t, sqltool.SQLite, "create table notes (text text)")
		query(t, s, "insert into notes values ('"+strings.ReplaceAll(in.Text, "'", "''")+"')")
		head = fmt.Sprintf("data: {notes: {url: %q}}\n", url)
		reads, read = "read_note", "  read_note: {description: Reads. Not for paying., sql: {query: select text from notes}}\n"
	case "script":
		text, _ := json.Marshal(in.Text)
		reads, read = "read_note", "  scripts: [tools.ts]\n"
		opts = append(opts, func(b *bed) {
			src := "export const tools = { read_note: { description: 'Reads.', effect: 'read', handler: () => (" + string(text) + ") } }\n"
			if err := os.WriteFile(filepath.Join(b.dir, "tools.ts"), []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	opts = append(opts, withYAML(head+fmt.Sprintf(`bot: {persona: You are the till.}
fetch: {allow: [%q]}
tools:
%s  pay:
    description: Pays. Not for reading.
    schema:
      type: object
      properties: {to: {type: string, enum: [shop]}, amount: {type: number, minimum: 1, maximum: 100}}
      required: [to, amount]
      additionalProperties: false
    confirm: true
    http: {method: POST, url: "http://%s/pay", bind: {customer: user.id}}`, p.host, read, p.host)))
	switch in.Through {
	case "mcp":
		c := newCRM(t)
		c.AddTool(&mcp.Tool{Name: "read_note", Description: "Reads.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil
			})
		reads = "crm_read_note"
		b = newBed(t, append(opts, c.remote("{read_note: {confirm: false}}"))...)
		b.logged("mcp server is connected")
	case "card":
		c := newCRM(t)
		b = newBed(t, append(opts, c.remote("[add_note]"))...)
		b.logged("mcp server is connected")
		c.describe(in.Text)
		b.logged("models are offered other tools now")
	default:
		b = newBed(t, opts...)
	}
	return b, reads
}

func TestTools_E1_NoTextChangesIdentityPromptOrConfirmation(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("testdata/injections.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []injection
	if err := yaml.Unmarshal(doc, &all); err != nil || len(all) < 30 {
		t.Fatalf("%d injections, %v", len(all), err)
	}
	for i, in := range all {
		t.Run(fmt.Sprint(i+1, " ", in.Through), func(t *testing.T) {
			t.Parallel()
			p := newTill(t, in.Text)
			b, reads := in.furnished(t, p)
			n := 1 // the question's place
			if reads != "" {
				b.model.then(calls(reads, `{}`))
			}
			// It does as it was told, and, where that isn't possible, what is.
			b.model.then(calls("pay", in.Call), calls("pay", `{"to":"shop","amount":60}`), says("done"))
			switch in.Through {
			case "user text":
				b.say(in.Text)
			case "name":
				b.user.Name = in.Text
				b.say("hello")
			case "caption":
				b.hears(channels.Inbound{Text: in.Text, Media: []channels.Media{{Type: "image", MIME: "image/png", Name: "a.png"}}})
			case "file name":
				b.hears(channels.Inbound{Text: "see this", Media: []channels.Media{{Type: "document", MIME: "application/pdf", Name: in.Text}}})
			case "lang":
				b.say("/lang " + in.Text)
				b.message(1)
				n = 2
				b.say("hello")
			default:
				b.say("hello")
			}
			m := b.asked(n)
			if want := "About to: Pay\n• To: shop\n• Amount: 60\nDo you confirm?"; m.Text != want {
				t.Errorf("question %q, want %q", m.Text, want)
			}
			if got := p.payments(); len(got) != 0 {
				t.Errorf("paid before anybody was asked: %s", got)
			}
			b.press("yes")
			b.wants(n+1, "done")
			if got := p.payments(); len(got) != 1 || got[0] != `{"to":"shop","amount":60,"customer":"user-ana"}` && got[0] != `{"amount":60,"customer":"user-ana","to":"shop"}` {
				t.Errorf("paid %s", got)
			}
			arrived := in.Through == "name" || in.Through == "file name" || in.Through == "lang" || in.Through == "card"
			for _, r := range b.model.requests() {
				if s := strings.Join(r.System, "\n"); strings.Contains(s, "INJ-") || !strings.Contains(s, "You are the till.") {
					t.Errorf("system prompt %q", s)
				}
				cards, _ := json.Marshal(r.Tools)
				if strings.Contains(string(cards), "INJ-") {
					t.Errorf("cards %s", cards)
				}
				messages, _ := json.Marshal(r.Messages)
				arrived = arrived || strings.Contains(string(messages), "INJ-")
			}
			if !arrived {
				t.Error("the model never read the text: the test proves nothing")
			}
		})
	}
}
