package channeltest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
)

func TestLine_IsCutBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	arrived := 0
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived++ }))
	t.Cleanup(srv.Close)
	line := channeltest.NewLine()
	t.Cleanup(line.CloseIdleConnections)
	line.CutNext(2)
	for i := range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := line.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if cut := err != nil; cut != (i < 2) {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if arrived != 1 {
		t.Errorf("%d calls arrived", arrived)
	}
}

func TestLog_KeepsAndWaits(t *testing.T) {
	t.Parallel()
	var l channeltest.Log
	go func() { _, _ = io.WriteString(&l, "begun "+strings.Repeat("x", 7000)+" done") }()
	l.Until(t, "done")
	l.Until(t, "begun")
	l.Hides(t, "secret")
	if s := l.String(); len(s) != 6000 || !strings.HasSuffix(s, "x done") || !l.Has("begun") {
		t.Errorf("%d bytes of it, %v", len(s), l.Has("begun"))
	}
}

func TestStart_StopsOnce(t *testing.T) {
	t.Parallel()
	ends := 0
	stop := channeltest.Start(t, func(ctx context.Context) error {
		<-ctx.Done()
		ends++
		return context.Cause(ctx)
	})
	for range 2 {
		if err := stop(); !errors.Is(err, context.Canceled) || ends != 1 {
			t.Errorf("%v, ended %d times", err, ends)
		}
	}
	want := errors.New("by itself")
	if err := channeltest.Ends(t, func(context.Context) error { return want }, new(channeltest.Log)); !errors.Is(err, want) {
		t.Error(err)
	}
}
