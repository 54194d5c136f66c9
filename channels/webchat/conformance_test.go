package webchat_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/webchat"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case {
		host := channeltest.NewHost()
		a, err := webchat.New(webchat.Config{}, webchat.Deps{Host: host, Name: "web"})
		if err != nil {
			t.Fatal(err)
		}
		var v visitor
		srv := httptest.NewUnstartedServer(nil)
		post := func(t *testing.T, path, body string) bool {
			t.Helper()
			status, _ := v.call("POST", path, body)
			return status == http.StatusOK || status == http.StatusAccepted
		}
		c := channeltest.Case{
			Adapter: a,
			Close:   srv.Close,
			Deliver: func(t *testing.T, id, text string) bool {
				return post(t, "/chat/api/messages", mustJSON(t, map[string]string{"text": text, "client_id": id}))
			},
			Press: func(t *testing.T, button channels.ButtonID) bool {
				return post(t, "/chat/api/press", mustJSON(t, map[string]string{"button": string(button)}))
			},
		}
		// The session is begun here, since the suite asks for its chat.
		_, h := a.Pages(sinkFunc(nil))
		srv.Config.Handler = h
		srv.Start()
		v = (&chat{t: t, url: srv.URL}).begin("en")
		c.Chat, c.Secrets = v.at(), []string{v.token}
		c.Serve = func(h http.Handler) { srv.Config.Handler = h }
		return c
	}})
}
