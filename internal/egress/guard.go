package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// Options are the limits of a guard. The zero value of each is its default.
type Options struct {
	// Timeout bounds an exchange whose context has no deadline; 60 s.
	Timeout time.Duration
	// DialTimeout bounds look-up and connecting, and TLS once more; 10 s.
	DialTimeout time.Duration
	// MaxBody is how much of an answer's body Do reads, in bytes after
	// decompression, where the request doesn't say; 1 MiB.
	MaxBody int64
	// MaxRedirects is how many hops are followed; 5. Below 0 is none.
	MaxRedirects int
	// UserAgent is sent where the request has none; "parley".
	UserAgent string
	// Resolver looks names up; nil is the system's.
	Resolver *net.Resolver
	// TLS is for hosts with a certificate authority of their own; nil
	// trusts the system's.
	TLS *tls.Config
}

// Guard lets requests out to listed hosts only. It is safe for use by many
// goroutines.
type Guard struct {
	rules  []rule
	judge  judge
	opts   Options
	dialer net.Dialer
	// pooled keeps connections, for requests that may be sent twice. fresh
	// has one connection for each request: net/http sends a request again
	// by itself when a kept connection turns out to be dead, also a POST if
	// it has an Idempotency-Key, and that header is a plea, not a promise.
	pooled, fresh *http.Transport
}

// New builds the guard of an allow-list. An entry is
//
//	host         that name, every port, public addresses only
//	*.host       the names below it, likewise
//	host:port    that name at that port, also where it is a private address
//	IP           that address, every port, if it is public
//	IP:port      that very address and port, whatever it is
//
// Link-local (cloud metadata), multicast and reserved addresses are reached
// through IP:port alone. An empty list lets nothing out. New does no I/O.
func New(allow []string, opts Options) (*Guard, error) {
	g := &Guard{judge: newJudge(), opts: opts}
	g.opts.Timeout = cmp.Or(opts.Timeout, time.Minute)
	g.opts.DialTimeout = cmp.Or(opts.DialTimeout, 10*time.Second)
	g.opts.MaxBody = cmp.Or(opts.MaxBody, 1<<20)
	g.opts.MaxRedirects = cmp.Or(opts.MaxRedirects, 5)
	g.opts.UserAgent = cmp.Or(opts.UserAgent, "parley")
	var errs []error
	for _, entry := range allow {
		r, err := parseRule(entry)
		errs = append(errs, err)
		g.rules = append(g.rules, r)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g.dialer = net.Dialer{Timeout: g.opts.DialTimeout, KeepAlive: 30 * time.Second, Resolver: opts.Resolver}
	g.pooled, g.fresh = g.transport(), g.transport()
	g.fresh.DisableKeepAlives = true
	g.fresh.ForceAttemptHTTP2 = false // HTTP/2 has one connection for many
	g.fresh.Protocols = new(http.Protocols)
	g.fresh.Protocols.SetHTTP1(true)
	return g, nil
}

func (g *Guard) transport() *http.Transport {
	t := &http.Transport{
		DialContext:            g.dial,
		TLSHandshakeTimeout:    g.opts.DialTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        time.Minute,
		ForceAttemptHTTP2:      true,
	}
	if g.opts.TLS != nil {
		t.TLSClientConfig = g.opts.TLS.Clone()
	}
	return t
}

// Close drops the connections that are kept for reuse.
func (g *Guard) Close() {
	g.pooled.CloseIdleConnections()
	g.fresh.CloseIdleConnections()
}

// CheckURL tells whether the list lets a request go to u: an *[Error] of class
// Refused says why not. It looks nothing up: a listed name may still turn out
// to be a private address when it is dialled.
func (g *Guard) CheckURL(u *url.URL) error {
	if u == nil || u.Host == "" {
		return refused("", "the URL has no host")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return refused(u.Host, "the scheme is neither http nor https")
	}
	if u.User != nil {
		return refused(u.Host, "the URL holds credentials; put them in a header")
	}
	if u.Opaque != "" {
		return refused(u.Host, "the URL isn't of the form scheme://host/path")
	}
	_, err := g.target(u.Hostname(), portOf(u))
	return err
}

// target asks the list for a destination. open is the widest reach that the
// addresses of its name may have.
func (g *Guard) target(rawHost, rawPort string) (open reach, err error) {
	where := net.JoinHostPort(rawHost, rawPort)
	n, err := strconv.ParseUint(rawPort, 10, 16)
	if err != nil || n == 0 {
		return public, refused(where, "the port is not a number from 1 to 65535")
	}
	port := uint16(n)
	if addr, err := netip.ParseAddr(rawHost); err == nil {
		return public, g.checkAddr(where, addr, port)
	}
	host := normalName(rawHost)
	if err := checkName(host); err != nil {
		return public, refused(where, "%w", err)
	}
	if !listed(g.rules, host, netip.Addr{}, port) {
		return public, refused(where, "the host is not in fetch.allow")
	}
	if listedExactly(g.rules, host, port) {
		return private, nil
	}
	return public, nil
}

func (g *Guard) checkAddr(where string, addr netip.Addr, port uint16) error {
	if addr.Zone() != "" {
		return refused(where, "an address with a zone is never reached")
	}
	addr = addr.Unmap()
	switch {
	case !listed(g.rules, "", addr, port):
		return refused(where, "the address is not in fetch.allow")
	case g.judge.reach(addr) != public && !addressListed(g.rules, addr, port):
		return refused(where, "the address is not public: list it in fetch.allow together with its port")
	}
	return nil
}

// dial connects to a listed destination, and judges each address that its name
// has at this moment. The list is asked here once more: whatever way a request
// came, redirected or not, it leaves through this door.
func (g *Guard) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, rawPort, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, refused(hostport, "splitting host and port: %w", err)
	}
	open, err := g.target(host, rawPort)
	if err != nil {
		return nil, err
	}
	d := g.dialer
	d.ControlContext = func(_ context.Context, network, address string, _ syscall.RawConn) error {
		return g.checkDialled(hostport, network, address, open)
	}
	conn, err := d.DialContext(ctx, network, hostport)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			return nil, e
		}
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return conn, nil
}

func (g *Guard) checkDialled(where, network, address string, open reach) error {
	if network != "tcp4" && network != "tcp6" {
		return refused(where, "network %s", network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return refused(where, "reading the dialled address: %w", err)
	}
	if g.judge.reach(ap.Addr()) <= open || addressListed(g.rules, ap.Addr().Unmap(), ap.Port()) {
		return nil
	}
	return refused(where, "its address is not public: list the host in fetch.allow together with its port, or the address with its port")
}
