package override

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/parley-bot/parley/internal/config/tree"
)

// A flag that was given wins over the variable, that over the file; each says
// where it is from. A flag's default and an empty variable say nothing.
func TestOverride(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv("PARLEY_SERVER_LISTEN", "env:1")
	t.Setenv("PARLEY_LOG_LEVEL", "debug")
	t.Setenv("PARLEY_BOT_NAME", "")
	t.Setenv("PARLEY_BOT_PERSONA", "not a setting")
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags.String("listen", "", "")
	flags.String("log-level", "info", "")
	flags.String("log-format", "text", "")
	if err := flags.Parse([]string{"--listen", "flag:2"}); err != nil {
		t.Fatal(err)
	}
	rep := &tree.Report{}
	in := "server: {listen: file:3}\nbot: {name: Ana}\n"
	root := tree.Parse(rep, "x.yaml", []byte(in))
	got, err := Override(root, []string{"server.listen", "log.level", "log.format", "bot.name"}, flags)
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep.Err())
	}
	for path, want := range map[string]struct{ value, place string }{
		"server.listen": {"flag:2", "flag --listen"},
		"log.level":     {"debug", "environment PARLEY_LOG_LEVEL"},
		"bot.name":      {"Ana", "x.yaml:2:13"},
	} {
		f := got.Find(path)
		if f == nil || f.Val.Value != want.value || f.Val.At.String() != want.place {
			t.Errorf("%s: %+v, want %+v", path, f, want)
		}
	}
	if got.Get("bot").Val.Get("persona") != nil || got.Get("log").Val.Get("format") != nil {
		t.Error("what is no setting, or wasn't given, was overridden")
	}
	if !root.Equal(tree.Parse(rep, "x.yaml", []byte(in))) {
		t.Error("the file's tree was changed")
	}
}
