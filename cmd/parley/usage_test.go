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

// Every command says which argument is missing, or which is too many, by name.
func TestUsage_EveryArgumentIsNamed(t *testing.T) {
	t.Parallel()
	tried := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		names, path := strings.Fields(cmd.Use)[1:], strings.Fields(cmd.CommandPath())[1:]
		wrong := func(args []string, says string) {
			t.Helper()
			tried++
			var errOut bytes.Buffer
			code := run(t.Context(), append(path, args...), strings.NewReader(""), io.Discard, &errOut)
			if want := "parley: " + says; code != exitUsage || !strings.HasPrefix(errOut.String(), want) {
				t.Errorf("parley %s %v: exit %d, want %d and %q\n%s", strings.Join(path, " "), args, code, exitUsage, want, errOut.String())
			}
		}
		var given []string
		for _, name := range names {
			if !strings.HasPrefix(name, "[") {
				wrong(given, name+" is missing (see "+cmd.CommandPath()+" --help)")
			}
			given = append(given, "given")
		}
		switch {
		case len(names) > 0 && strings.Contains(cmd.Use, "…"), cmd.Name() == "help":
		case len(names) > 0:
			wrong(append(given, "extra"), `"extra" is one argument too many: there is only `+strings.Join(names, " "))
		default:
			wrong([]string{"extra"}, `unknown command "extra" for "parley`)
		}
	}
	walk(newRoot(streams{strings.NewReader(""), io.Discard, io.Discard}))
	if tried < 25 {
		t.Errorf("only %d were tried", tried)
	}
}

func TestCounted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 tools", 1: "1 tool", 2: "2 tools"} {
		if got := counted(n, "tool"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
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
