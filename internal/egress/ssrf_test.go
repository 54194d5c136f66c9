package egress

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// TestDo_E6_NoWayInside tries each way to write an address of the inside, asked
// for at once, behind a redirect, and by a client of a protocol on top (MCP).
// PORT is that of a server on the loopback address, which must never be reached.
func TestDo_E6_NoWayInside(t *testing.T) {
	t.Parallel()
	_, inside, hits := server(t, hello)
	port := portOfHost(t, inside)
	for _, authority := range []string{
		"127.0.0.1:PORT", "127.0.0.2:PORT", "localhost:PORT", "LOCALHOST.:PORT", "127.0.0.1.:PORT", "[::1]:PORT",
		"10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fd00::1]",
		"169.254.169.254", "169.254.169.254.", "[fe80::1]", "[fe80::1%25lo]", "[fd00:ec2::254]", "0.0.0.0:PORT", "[::]:PORT", "0:PORT",
		"[::ffff:127.0.0.1]:PORT", "[::ffff:7f00:1]:PORT", "[::127.0.0.1]:PORT", "[64:ff9b::7f00:1]:PORT", "[64:ff9b::127.0.0.1]:PORT",
		"[64:ff9b:1::7f00:1]:PORT", "[2002:7f00:1::]:PORT", "[2001:0:7f00:1::]:PORT", "[::ffff:0:127.0.0.1]:PORT",
		"2130706433:PORT", "0177.0.0.1:PORT", "017700000001:PORT", "0x7f.1:PORT", "0x7f000001:PORT", "0X7F.0x0.0x0.0x1:PORT", "127.1:PORT",
		"127.0.1:PORT", "127.0.0.0x1:PORT", "0127.0.0.1:PORT", "127.0.0.1.0x:PORT", "4294967297:PORT",
		"shop.example.com@127.0.0.1:PORT", "shop.example.com:80@127.0.0.1:PORT", "shop.example.com%40127.0.0.1:PORT", "127.0.0.1:PORT@shop.example.com",
		"127。0。0。1:PORT", "127．0．0．1:PORT", "127｡0｡0｡1:PORT", "１２７.0.0.1:PORT", "①②⑦.0.0.1:PORT", "ⓛocalhost:PORT", "localhoſt:PORT",
		"127%2e0%2e0%2e1:PORT", "127.0.0.1%00.shop.example.com:PORT", "shop.example.com.127.0.0.1:PORT", "127.0.0.1..:PORT",
		"rebound.example.com:PORT", "six.example.com:PORT", "\u212Aitchen.example.com:PORT",
	} {
		t.Run(authority, func(t *testing.T) {
			t.Parallel()
			to := "http://" + strings.ReplaceAll(authority, "PORT", port) + "/"
			dns := newDNS(map[string][]netip.Addr{
				"rebound.example.com": {netip.MustParseAddr("127.0.0.1")}, "six.example.com": {netip.MustParseAddr("2002:7f00:1::")},
			})
			_, outside, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{to}
				w.WriteHeader(http.StatusFound)
			})
			g := newGuard(t, Options{Resolver: dns.resolver(t)}, "shop.example.com", "*.example.com", outside)
			if _, err := g.Do(t.Context(), Request{URL: to}); ClassOf(err) != Refused {
				t.Errorf("at once: %v, want refused", err)
			}
			// A Location that is no URL ends the exchange, in another class.
			if resp, err := g.Do(t.Context(), Request{URL: "http://" + outside + "/"}); err == nil {
				t.Errorf("behind a redirect: status %d of %s", resp.Status, resp.URL)
			}
			if resp, err := g.Client().Get(to); err == nil {
				_ = resp.Body.Close()
				t.Errorf("by a client: status %d", resp.StatusCode)
			}
		})
	}
	t.Cleanup(func() {
		if n := hits.Load(); n != 0 {
			t.Errorf("%d requests reached the inside", n)
		}
	})
}

// A kept connection doesn't outlive the judgement: a name that was open, then
// led inside, is refused by the next look-up, and works again afterwards.
func TestDo_E6_ReboundNameWorksAgainWhenItLeadsBack(t *testing.T) {
	t.Parallel()
	_, host, hits := server(t, hello)
	port := portOfHost(t, host)
	dns := newDNS(map[string][]netip.Addr{})
	g := newGuard(t, Options{Resolver: dns.resolver(t)}, "shop.example.com", host) // the address is listed, so the name may lead there
	for i, c := range []struct {
		addr string
		want Class
	}{{"127.0.0.1", ""}, {"10.0.0.1", Refused}, {"2002:7f00:1::", Refused}, {"169.254.169.254", Refused}, {"127.0.0.1", ""}} {
		dns.set("shop.example.com", netip.MustParseAddr(c.addr))
		_, err := g.Do(t.Context(), Request{Method: http.MethodPost, URL: "http://shop.example.com:" + port + "/"})
		if (err == nil) != (c.want == "") || err != nil && ClassOf(err) != c.want {
			t.Errorf("%d, %s: %v, want %q", i, c.addr, err, c.want)
		}
	}
	if n := hits.Load(); n != 2 {
		t.Errorf("%d requests reached the server, want 2", n)
	}
}
