package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func newGuard(t *testing.T, opts Options, allow ...string) *Guard {
	t.Helper()
	g, err := New(allow, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// server counts the requests that reach it.
func server(t *testing.T, h http.HandlerFunc) (s *httptest.Server, host string, hits *atomic.Int32) {
	t.Helper()
	hits = new(atomic.Int32)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s, strings.TrimPrefix(s.URL, "http://"), hits
}

func portOfHost(t *testing.T, host string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestDo_E6_PrivateAddressOnlyAtItsListedPort(t *testing.T) {
	t.Parallel()
	_, host, hits := server(t, hello)
	g := newGuard(t, Options{}, host)
	resp, err := g.Do(t.Context(), Request{URL: "http://" + host + "/"})
	if err != nil || resp.Status != 200 || string(resp.Body) != "hello" {
		t.Fatalf("listed: %v %+v", err, resp)
	}
	port := portOfHost(t, host)
	for name, allow := range map[string]string{"without the port": "127.0.0.1", "another port": "127.0.0.1:1", "the name only": "localhost", "any name": "*.example.com"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, Options{}, allow)
			for _, h := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"} {
				_, err := g.Do(t.Context(), Request{URL: "http://" + h + ":" + port + "/"})
				if ClassOf(err) != Refused {
					t.Errorf("%s with %s listed: %v, want refused", h, allow, err)
				}
			}
		})
	}
	t.Cleanup(func() {
		if n := hits.Load(); n != 1 {
			t.Errorf("%d requests reached the server, want 1", n)
		}
	})
}

func TestDo_E6_RebindingNameIsJudgedWhenDialled(t *testing.T) {
	t.Parallel()
	_, host, hits := server(t, hello)
	port := portOfHost(t, host)
	for name, addrs := range map[string][]string{
		"loopback":               {"127.0.0.1"},
		"loopback in IPv6":       {"::1"},
		"mapped":                 {"::ffff:127.0.0.1"},
		"NAT64 of loopback":      {"64:ff9b::7f00:1"},
		"metadata":               {"169.254.169.254"},
		"unspecified":            {"0.0.0.0"},
		"unspecified in IPv6":    {"::"},
		"private":                {"10.0.0.1"},
		"several, all of inside": {"127.0.0.1", "192.168.0.1", "fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dns := newDNS(map[string][]netip.Addr{})
			for _, a := range addrs {
				dns.names["shop.example.com"] = append(dns.names["shop.example.com"], netip.MustParseAddr(a))
			}
			g := newGuard(t, Options{Resolver: dns.resolver(t)}, "shop.example.com")
			_, err := g.Do(t.Context(), Request{URL: "http://shop.example.com:" + port + "/"})
			if ClassOf(err) != Refused {
				t.Errorf("%v, want refused", err)
			}
			if dns.asked["shop.example.com"] == 0 {
				t.Error("the name was not looked up: the test proves nothing")
			}
		})
	}
	t.Cleanup(func() {
		if n := hits.Load(); n != 0 {
			t.Errorf("%d requests reached the loopback server", n)
		}
	})
}

func TestDo_E6_NameWithPortOpensPrivateButNotMetadata(t *testing.T) {
	t.Parallel()
	_, host, hits := server(t, hello)
	port := portOfHost(t, host)
	dns := newDNS(map[string][]netip.Addr{"shop.internal": {netip.MustParseAddr("127.0.0.1")}, "meta.internal": {netip.MustParseAddr("169.254.169.254")}})
	g := newGuard(t, Options{Resolver: dns.resolver(t)}, "shop.internal:"+port, "meta.internal:"+port, "bare.internal", host)
	if _, err := g.Do(t.Context(), Request{URL: "http://shop.internal:" + port + "/"}); err != nil {
		t.Errorf("a name listed with its port: %v", err)
	}
	if _, err := g.Do(t.Context(), Request{URL: "http://meta.internal:" + port + "/"}); ClassOf(err) != Refused {
		t.Errorf("a link-local address behind a name: %v, want refused", err)
	}
	// The address is listed with its port, whatever name leads there.
	dns.set("bare.internal", netip.MustParseAddr("127.0.0.1"))
	if _, err := g.Do(t.Context(), Request{URL: "http://bare.internal:" + port + "/"}); err != nil {
		t.Errorf("a name whose address is listed: %v", err)
	}
	if n := hits.Load(); n != 2 {
		t.Errorf("%d requests reached the server, want 2", n)
	}
}

func TestDo_E6_SecondLookUpIsJudgedToo(t *testing.T) {
	t.Parallel()
	_, host, hits := server(t, hello)
	port := portOfHost(t, host)
	dns := newDNS(map[string][]netip.Addr{"shop.example.com": {netip.MustParseAddr("127.0.0.1")}})
	// The address is open while it is listed: a guard without that entry
	// meets the same name after it was rebound.
	first := newGuard(t, Options{Resolver: dns.resolver(t)}, "shop.example.com:"+port)
	if _, err := first.Do(t.Context(), Request{Method: "POST", URL: "http://shop.example.com:" + port}); err != nil {
		t.Fatal(err)
	}
	dns.set("shop.example.com", netip.MustParseAddr("169.254.169.254"))
	if _, err := first.Do(t.Context(), Request{Method: "POST", URL: "http://shop.example.com:" + port}); ClassOf(err) != Refused {
		t.Errorf("after rebinding: %v, want refused", err)
	}
	if n := hits.Load(); n != 1 {
		t.Errorf("%d requests reached the server, want 1", n)
	}
}

func TestClient_E6_IgnoresProxyAndGuardsEveryRequest(t *testing.T) {
	t.Parallel()
	_, host, _ := server(t, hello)
	g := newGuard(t, Options{}, host)
	if g.pooled.Proxy != nil || g.fresh.Proxy != nil {
		t.Error("a proxy is set")
	}
	c := g.Client()
	resp, err := c.Get("http://" + host)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, err = c.Get("http://127.0.0.1:1/")
	if ClassOf(err) != Refused {
		t.Errorf("%v, want refused", err)
	}
	if c.Timeout == 0 {
		t.Error("the client has no timeout")
	}
}

func TestDial_RefusesWhatDidNotComeThroughCheckURL(t *testing.T) {
	t.Parallel()
	_, host, _ := server(t, hello)
	g := newGuard(t, Options{}, "shop.example.com")
	for _, hp := range []string{host, "nonsense", "evil.example:80"} {
		if c, err := g.dial(t.Context(), "tcp", hp); ClassOf(err) != Refused {
			t.Errorf("dial %s: %v %v, want refused", hp, c, err)
		}
	}
}

func TestDo_NoServerIsNotSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	_ = l.Close()
	g := newGuard(t, Options{}, host)
	_, err = g.Do(t.Context(), Request{Method: "POST", URL: "http://" + host + "/private?token=canary", Body: []byte("canary"), Header: http.Header{"Authorization": {"canary"}}})
	if ClassOf(err) != NotSent {
		t.Fatalf("%v, want not_sent", err)
	}
	if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "private") {
		t.Errorf("the error tells the request: %v", err)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		t.Error("a url.Error, which holds the URL, is within")
	}
}

func TestDo_CancelledBeforeConnectingIsNotSent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := newGuard(t, Options{}, "127.0.0.1:9")
	_, err := g.Do(ctx, Request{Method: "POST", URL: "http://127.0.0.1:9/"})
	if ClassOf(err) != NotSent || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want not_sent and cancelled", err)
	}
}

func TestDo_LookUpFailureIsNotSent(t *testing.T) {
	t.Parallel()
	dns := newDNS(map[string][]netip.Addr{})
	g := newGuard(t, Options{Resolver: dns.resolver(t)}, "shop.example.com")
	_, err := g.Do(t.Context(), Request{Method: "POST", URL: "http://shop.example.com:" + strconv.Itoa(80) + "/"})
	if ClassOf(err) != NotSent {
		t.Errorf("%v, want not_sent", err)
	}
}
