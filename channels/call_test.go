package channels_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// tried makes a request that gets no answer, and tells whether any of it may
// have left.
func tried(t *testing.T, address string, transport *http.Transport) bool {
	t.Helper()
	transport.DisableKeepAlives = true
	ctx, left := channels.Leaving(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatalf("%s answered %s", address, resp.Status)
	}
	return left.Load()
}

// What fails before a byte of the request was written can't have been taken.
func TestLeaving_G5_OnlyWhatWasWritten(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it arrived") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(refuses.Close)
	proxy, err := url.Parse(refuses.URL)
	if err != nil {
		t.Fatal(err)
	}
	noName := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "api.invalid", IsNotFound: true}
	}}
	for name, left := range map[string]bool{
		"nothing listens":        tried(t, gone.URL, &http.Transport{}),
		"no such name":           tried(t, "https://api.invalid/", noName),
		"unknown certificate":    tried(t, secure.URL, &http.Transport{}),
		"the proxy doesn't dial": tried(t, "https://api.invalid/", &http.Transport{Proxy: http.ProxyURL(proxy)}),
	} {
		if e := (&channels.LostError{API: "x", Sent: left, Err: io.EOF}); left || e.Class() != channels.Temporary || e.Error() != "x was not reached: EOF" {
			t.Errorf("%s: left %v, %s, %v", name, left, e.Class(), e)
		}
	}
	cuts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cuts.Close)
	left := tried(t, cuts.URL, &http.Transport{})
	if e := (&channels.LostError{API: "x", Sent: left, Err: io.EOF}); !left || e.Class() != channels.Unknown || e.Error() != "x gave no answer: EOF" || !errors.Is(e, io.EOF) {
		t.Errorf("cut: left %v, %s, %v", left, e.Class(), e)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "x": 0, "-1": 0, "0": 0, "NaN": 0, "7": 7 * time.Second, "0.25": 250 * time.Millisecond, "1e300": 24 * time.Hour, "Inf": 24 * time.Hour,
	} {
		if got := channels.RetryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := channels.AfterSeconds(math.NaN()); got != 0 {
		t.Errorf("no number: %v", got)
	}
}

func TestScrub_NoAddressNoSecret(t *testing.T) {
	t.Parallel()
	plain := &url.Error{Op: "Post", URL: "https://api.example.com/bots3cret/x", Err: io.EOF}
	if got := channels.Scrub(fmt.Errorf("calling: %w", plain), "s3cret"); !errors.Is(got, io.EOF) || got.Error() != "EOF" {
		t.Errorf("%v", got)
	}
	quoting := &url.Error{Op: "Post", URL: "x", Err: errors.New("malformed s3cret, other")}
	if got := channels.Scrub(quoting, "", "s3cret", "other"); got.Error() != "malformed ***, ***" {
		t.Errorf("%v", got)
	}
}

func TestClip_WholeRunes(t *testing.T) {
	t.Parallel()
	const text = "aéí€😀"
	for most := range 12 {
		got := channels.Clip(text, most)
		if len(got) > most || !utf8.ValidString(got) || text[:len(got)] != got {
			t.Errorf("%d bytes: %q", most, got)
		}
	}
	if got := channels.Shorten("été", 3); got != "ét…" {
		t.Errorf("%q", got)
	}
	if got := channels.Shorten("été", 5); got != "été" {
		t.Errorf("%q", got)
	}
}
