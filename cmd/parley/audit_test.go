package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/audit"
)

// ordered is a configuration whose database has one order, asked about and
// approved.
func ordered(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	config = filepath.Join(dir, "parley.yaml")
	for name, text := range map[string]string{
		config: "store: {url: 'sqlite://" + filepath.Join(dir, "parley.db") + "'}\nmodel: {provider: script, script: model.yaml}\n" +
			"tools: {scripts: [tools.ts]}\nchannels: {web: {kind: webchat}}\n",
		filepath.Join(dir, "model.yaml"): "rules:\n  - when: {last: user}\n    call: {tool: order}\n  - say: done\n",
		filepath.Join(dir, "tools.ts"):   "export const tools = { order: { description: 'd', confirm: true, schema: {type: 'object'}, handler: () => 'ok' } }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"chat", "-c", config}, strings.NewReader("please\nyes\n"), &out, &errOut); code != exitOK || !strings.Contains(out.String(), "done") {
		t.Fatalf("exit %d: %s%s", code, out.String(), errOut.String())
	}
	// A pipe is told nothing but the conversation.
	if strings.Contains(out.String()+errOut.String(), "Ctrl-D") {
		t.Errorf("said to a pipe: %s", out.String())
	}
	return config
}

const auditTable = `^TIME +CHAT +EVENT +TOOL +OUTCOME
[-0-9]{10} [:0-9]{8}  console:console  tool.call               order  -
[-0-9]{10} [:0-9]{8}  console:console  tool.confirm.requested  order  -
[-0-9]{10} [:0-9]{8}  console:console  tool.confirm.approved   order  by console.*
[-0-9]{10} [:0-9]{8}  console:console  tool.result             order  ok(, after [0-9.]+m?s)?
$`

func TestAudit_D1_TableAndLines(t *testing.T) {
	t.Parallel()
	config := ordered(t)
	code, said, wrong := runInit(t, "audit", "-c", config)
	if code != exitOK || wrong != "" || !regexp.MustCompile(auditTable).MatchString(said) {
		t.Errorf("exit %d, %s\n%s", code, wrong, said)
	}
	code, said, wrong = runInit(t, "audit", "--json", "-c", config)
	if code != exitOK || wrong != "" || strings.Count(said, "\n") != 4 {
		t.Errorf("exit %d, %s\n%s", code, wrong, said)
	}
	for line := range strings.Lines(said) {
		var row audit.Row
		var e audit.Event
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.ID == 0 || json.Unmarshal(row.Event, &e) != nil || e.Tool != "order" {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// until is a writer that calls back once it was told a text.
type until struct {
	bytes.Buffer
	text string
	then func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.then()
	}
	return n, err
}

func TestAudit_D1_Follow(t *testing.T) {
	t.Parallel()
	config := ordered(t)
	for _, args := range [][]string{{"audit", "--follow", "-c", config}, {"audit", "--follow", "--json", "-c", config}} {
		ctx, stop := context.WithCancel(t.Context())
		var errOut bytes.Buffer
		out := &until{text: "tool.result", then: stop}
		if code := run(ctx, args, strings.NewReader(""), out, io.Writer(&errOut)); code != exitOK {
			t.Errorf("%v: exit %d: %s", args, code, errOut.String())
		}
		if n := strings.Count(out.String(), "tool."); n != 4 || strings.HasPrefix(out.String(), "TIME") == (len(args) == 5) {
			t.Errorf("%v: %d events:\n%s", args, n, out.String())
		}
		stop()
	}
}

func TestAudit_OutcomeInAFewWords(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]audit.Event{
		"ok":                          {Type: audit.ToolResult},
		"-":                           {Type: audit.ToolCall},
		"by ana, after 2.5s":          {Type: audit.ConfirmApproved, Actor: "ana\x1b", DurationMs: 2500},
		"after 1s, no bread to day":   {Type: audit.ToolError, Error: "no bread\nto\tday\x1b", DurationMs: 1000},
		strings.Repeat("ñ", 80) + "…": {Type: audit.ToolError, Error: strings.Repeat("ñ", 99)},
	} {
		if got := outcomeOf(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := auditColumns(audit.Row{ID: 7, Event: json.RawMessage("[]")}); got[2] != "unreadable" {
		t.Errorf("%v", got)
	}
}
