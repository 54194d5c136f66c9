package telegram_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/internal/secret"
)

func TestPace(t *testing.T) {
	t.Parallel()
	private := channels.Budget{Chat: channels.Rate{Sends: 20, Per: 20 * time.Second}, Account: channels.Rate{Sends: 30, Per: time.Second}}
	group := channels.Budget{Chat: channels.Rate{Sends: 20, Per: time.Minute}, Account: private.Account}
	for _, tt := range []struct {
		pace, url      string
		private, group channels.Budget
	}{
		{"", "", private, group},
		{"auto", "https://api.telegram.org/", private, group},
		{"", "http://127.0.0.1:8081", channels.Budget{}, channels.Budget{}},
		{"on", "http://127.0.0.1:8081", private, group},
		{"off", "", channels.Budget{}, channels.Budget{}},
	} {
		a, err := telegram.New(telegram.Config{Token: secret.New("1:AAE"), Pace: tt.pace, APIURL: tt.url}, telegram.Deps{
			Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "tg",
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Capabilities(channels.Chat{ID: "1"}).Budget; got != tt.private {
			t.Errorf("pace %q at %q: %+v", tt.pace, tt.url, got)
		}
		if got := a.Capabilities(channels.Chat{ID: "-1", Group: true}).Budget; got != tt.group {
			t.Errorf("pace %q at %q, group: %+v", tt.pace, tt.url, got)
		}
	}
	cfg := telegram.Config{Token: secret.New("1:AAE"), Pace: "slow"}
	if err := cfg.Validate(); err == nil || err.Error() != `"slow" is not known: use auto, on or off` {
		t.Errorf("got %v", err)
	}
}
