package whatsappcloud_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
)

//nolint:paralleltest // the suite looks for goroutines left behind
func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Setup{New: newCase})
}

func newCase(t *testing.T) channeltest.Case {
	p := whatsappcloudtest.New(whatsappcloudtest.Config{})
	a, err := whatsappcloud.New(configOf(p), whatsappcloud.Deps{Host: channeltest.NewHost(), Name: "wa"})
	if err != nil {
		t.Fatal(err)
	}
	// Free text is taken from whoever wrote.
	p.From(ana, "Ana", whatsappcloudtest.Text("wamid.0", "hello"))
	deliver := func(t *testing.T, m object) bool {
		t.Helper()
		return p.Deliver(p.Batch(p.From(ana, "Ana", m))).Code == http.StatusOK
	}
	return channeltest.Case{
		Adapter: a, Chat: channels.Chat{ID: ana}, Serve: p.Serve, Close: p.Close, Calls: p.Calls,
		Secrets: []string{p.Token, p.AppSecret, p.VerifyToken},
		Deliver: func(t *testing.T, id, text string) bool {
			return deliver(t, whatsappcloudtest.Text("wamid."+id, text))
		},
		Press: func(t *testing.T, button channels.ButtonID) bool {
			return deliver(t, whatsappcloudtest.Press("wamid.press", string(button), "Yes", "wamid.Q"))
		},
		Shown: func() (out []string) {
			for _, m := range p.Messages() {
				out = append(out, m.Text)
			}
			return out
		},
		Fail: func(f channeltest.Fault) bool { return fail(p, f) },
	}
}

// fail makes the platform fail as Meta does.
func fail(p *whatsappcloudtest.Platform, f channeltest.Fault) bool {
	faults := map[channeltest.Fault]whatsappcloudtest.Fault{
		channeltest.FaultTooLong: {Status: 400, Code: 100, Message: "Param text['body'] must be at most 4096 characters long"},
		channeltest.FaultBlocked: {Status: 400, Code: 131026, Message: "Message undeliverable"},
		// A message that quotes the credential must not pass it on.
		channeltest.FaultToken:     {Status: 401, Code: 190, Message: "Error validating access token " + p.Token},
		channeltest.FaultRate:      {Status: 429, Code: 130429, Message: "Rate limit hit", RetryAfter: strconv.Itoa(int(channeltest.FaultAfter / time.Second))},
		channeltest.FaultServer:    {Status: 500, Code: 131000, Message: "Something went wrong"},
		channeltest.FaultLost:      {Drop: true},
		channeltest.FaultMalformed: {Status: 200, Body: `{"messages":[]}`},
	}
	fault, ok := faults[f]
	if ok {
		p.Fail(fault)
	}
	return ok
}
