package webchat_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/webchat"
)

// A server's timeouts are meant for requests; a stream lives on past both.
func TestEvents_OutliveTheServersTimeouts(t *testing.T) {
	t.Parallel()
	a, err := webchat.New(webchat.Config{Heartbeat: 10 * time.Millisecond}, webchat.Deps{Host: channeltest.NewHost()})
	if err != nil {
		t.Fatal(err)
	}
	_, h := a.Pages(sinkFunc(nil))
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ReadTimeout = 200 * time.Millisecond
	srv.Config.WriteTimeout = 200 * time.Millisecond
	srv.Start()
	t.Cleanup(srv.Close)
	st := (&chat{t: t, url: srv.URL}).begin("en").open("/chat/api/events")
	begun := time.Now()
	for time.Since(begun) < 2*srv.Config.ReadTimeout {
		if st.block() == "" {
			t.Fatalf("the stream ended after %s", time.Since(begun))
		}
	}
	st.stop() // before the server waits for it
}
