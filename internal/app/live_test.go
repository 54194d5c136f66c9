package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/config"
)

// checkable is an account that can prove its credentials, or not.
type checkable struct {
	channels.Adapter
	account string
	err     error
}

func (c checkable) Check(context.Context) (string, error) { return c.account, c.err }

func TestCheckLive_TriesAllAndNamesTheBad(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"parley.yaml": {Data: []byte("store: {url: 'sqlite://" + filepath.Join(t.TempDir(), "x.db") + "'}\n" +
			"model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n")},
		"model.yaml": {Data: []byte("rules:\n  - say: unused\n")},
	}
	cfg, err := config.LoadFS(fsys, "parley.yaml", Kinds())
	if err != nil {
		t.Fatal(err)
	}
	bot, err := Build(t.Context(), cfg, Options{
		Log: slog.New(slog.DiscardHandler),
		Channels: map[string]func(channelEnv) (channels.Adapter, error){
			"good": Extra(checkable{account: "@bakery_bot"}), "bad": Extra(checkable{err: errors.New("the token is refused")}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	err = bot.CheckLive(t.Context(), func(line string) { told = append(told, line) })
	if err == nil || !strings.Contains(err.Error(), "channel bad: the token is refused") {
		t.Fatalf("error %v, want one that names the bad channel", err)
	}
	if got := strings.Join(told, "\n"); !strings.Contains(got, "channel good: ok, @bakery_bot") || !strings.Contains(got, "models: ok") {
		t.Fatalf("told %q", got)
	}
}
