package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/app"
)

func TestWebhooks_Table(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printWebhooks(&out, []app.Webhook{
		{Channel: "telegram", Kind: "telegram", Change: "set", WebhookStatus: channels.WebhookStatus{URL: "https://b.c/webhooks/telegram", Pending: 2, LastError: "503\nlater"}},
		{Channel: "wa", Kind: "whatsapp-cloud", Err: errors.New("channel wa: down")},
	})
	want := "CHANNEL   KIND            WEBHOOK                        PENDING  CHANGE  LAST ERROR\n" +
		"telegram  telegram        https://b.c/webhooks/telegram  2        set     503 later\n" +
		"wa        whatsapp-cloud  -                              0        failed  -\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || err.Error() != "channel wa: down" {
		t.Errorf("error %v", err)
	}
}

// The demo has a web chat only: there is nothing to set, and asking for it by
// name is the caller's mistake.
func TestWebhooks_Demo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"list", exitOK, "no channel has a webhook"},
		{"register --dry-run", exitOK, "no channel has a webhook"},
		{"delete nope", exitUsage, "channel nope is not configured"},
		{"register --nope", exitUsage, "unknown flag"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			code, out, errOut := runInit(t, append([]string{"webhooks"}, strings.Fields(tt.args)...)...)
			if code != tt.code || !strings.Contains(out+errOut, tt.says) {
				t.Errorf("exit %d, %q, %q; want %d with %q", code, out, errOut, tt.code, tt.says)
			}
		})
	}
}
