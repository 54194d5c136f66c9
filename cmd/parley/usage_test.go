package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestUsage_SaysWhatIsExpected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, says string }{
		{"completion nosh", `unknown command "nosh" for "parley completion" (there are bash, fish, powershell, zsh)`},
		{"completion bash x", `unknown command "x" for "parley completion bash" (see parley completion bash --help)`},
		{"webhooks nosuch", `unknown command "nosuch" for "parley webhooks" (there are delete, list, register)`},
		{"nosuch", `unknown command "nosuch" for "parley" (see parley --help)`},
		{"help nosuch", `unknown help topic "nosuch" (see parley --help)`},
		{"help mcp nosuch", `unknown help topic "mcp nosuch" (see parley mcp --help)`},
		{"audit --limit abc", `--limit: expected a whole number such as 100, not "abc" (see parley audit --help)`},
		{"audit --limit 1e9", `--limit: expected a whole number such as 100, not "1e9" (see parley audit --help)`},
		{"audit --limit 99999999999999999999", `--limit: expected a smaller number, not "99999999999999999999" (see parley audit --help)`},
		{"outbox --limit 0", `--limit: expected 1 or more, not 0`},
		{"audit --json=7", `--json: expected true or false, not "7" (see parley audit --help)`},
		{"health --timeout 5", `--timeout: expected a duration such as 500ms, 3s or 2m, not "5" (see parley health --help)`},
		{"health --timeout -1s", `--timeout: expected more than nothing, not -1s`},
		{"audit --nope", `unknown flag: --nope (see parley audit --help)`},
		{"audit --limit", `flag needs an argument: --limit (see parley audit --help)`},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), strings.Fields(tt.args), strings.NewReader(""), &out, &errOut)
		if want := "parley: " + tt.says + "\n"; code != exitUsage || errOut.String() != want || out.Len() > 0 {
			t.Errorf("parley %s: exit %d, want %d\n got %q\nwant %q\nstdout %q", tt.args, code, exitUsage, errOut.String(), want, out.String())
		}
	}
	for _, args := range []string{"completion", "completion zsh", "help", "help completion", "help mcp pin", "webhooks"} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &errOut); code != exitOK || out.Len() == 0 || errOut.Len() > 0 {
			t.Errorf("parley %s: exit %d, %d bytes, %s", args, code, out.Len(), errOut.String())
		}
	}
}

// No flag of any command answers a wrong value with the words of Go's parsers.
func TestUsage_EveryFlagHasPlainWords(t *testing.T) {
	t.Parallel()
	tried := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "string" {
				return // takes anything; what it means is looked at later
			}
			tried++
			args := append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name+"=x")
			var errOut bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(""), io.Discard, &errOut)
			if want := "parley: --" + f.Name + ": expected "; code != exitUsage || !strings.HasPrefix(errOut.String(), want) {
				t.Errorf("parley %s: exit %d\n%s", strings.Join(args, " "), code, errOut.String())
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(newRoot(streams{strings.NewReader(""), io.Discard, io.Discard}))
	if tried < 10 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// Pinning writes no file where nothing could be pinned: an empty one would be
// taken for a review.
func TestMCPPin_FailureWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	text := "model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n" +
		"mcp: {servers: {gone: {command: [" + filepath.Join(dir, "nosuch") + "], allow: [a]}}}\n"
	for name, text := range map[string]string{path: text, filepath.Join(dir, "model.yaml"): "rules: [{say: hello}]\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	code := run(t.Context(), []string{"mcp", "pin", "-c", path}, strings.NewReader(""), &out, &errOut)
	if code != exitFailure || out.Len() > 0 || !strings.Contains(errOut.String(), "mcp server gone: starting ") {
		t.Errorf("exit %d, %q, %q", code, out.String(), errOut.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("there are %v, %v", files, err)
	}
}
