package twilio_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/twilio"
	"github.com/parley-bot/parley/channels/twilio/twiliotest"
)

//nolint:paralleltest // the suite looks for goroutines left behind
func TestConformance(t *testing.T) {
	t.Run("SMS", func(t *testing.T) {
		channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case { return newCase(t, ana, nil) }})
	})
	t.Run("WhatsApp", func(t *testing.T) {
		channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case { return newCase(t, waAna, onWhatsApp) }})
	})
	t.Run("QuickReplies", func(t *testing.T) {
		channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case { return newCase(t, waAna, withContent) }})
	})
}

func newCase(t *testing.T, person string, change func(*twilio.Config)) channeltest.Case {
	p := twiliotest.New(twiliotest.Config{Token: "secrettoken12345"})
	cfg := configOf(p)
	if change != nil {
		change(&cfg)
	}
	a, err := twilio.New(cfg, twilio.Deps{Name: p.Name})
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(f url.Values) bool { return p.Deliver(f, "").Code == http.StatusOK }
	c := channeltest.Case{
		Adapter: a, Chat: channels.Chat{ID: channels.ChatID(person)}, Serve: p.Serve, Close: p.Close, Calls: p.Calls,
		Secrets: []string{p.Token},
		Deliver: func(_ *testing.T, id, text string) bool { return deliver(p.Text("SM"+id, person, cfg.From, text)) },
		Shown: func() (out []string) {
			for _, m := range p.Messages() {
				out = append(out, m.Body+m.Variables["1"])
			}
			return out
		},
		Fail: func(f channeltest.Fault) bool { return fail(p, f) },
	}
	if cfg.ContentSID != "" {
		c.Press = func(_ *testing.T, button channels.ButtonID) bool {
			f := p.Text("SMpress", person, cfg.From, "Yes")
			f.Set("ButtonPayload", string(button))
			f.Set("ButtonText", "Yes")
			return deliver(f)
		}
	}
	return c
}

// fail makes the platform fail as Twilio does.
func fail(p *twiliotest.Platform, f channeltest.Fault) bool {
	faults := map[channeltest.Fault]twiliotest.Fault{
		channeltest.FaultTooLong: {Status: 400, Code: 21617, Message: "The concatenated message body exceeds the 1600 character limit"},
		channeltest.FaultBlocked: {Status: 400, Code: 21610, Message: "Attempt to send to unsubscribed recipient"},
		// A message that quotes the credential must not pass it on.
		channeltest.FaultToken:     {Status: 401, Code: 20003, Message: "Authenticate: " + p.Token},
		channeltest.FaultRate:      {Status: 429, Code: 20429, Message: "Too Many Requests", RetryAfter: strconv.Itoa(int(channeltest.FaultAfter / time.Second))},
		channeltest.FaultServer:    {Status: 500, Body: "<html>"},
		channeltest.FaultLost:      {Drop: true},
		channeltest.FaultMalformed: {Status: 201, Body: `{"sid":`},
	}
	fault, ok := faults[f]
	if ok {
		p.Fail(fault)
	}
	return ok
}
