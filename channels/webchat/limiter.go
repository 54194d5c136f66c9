package webchat

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxAddresses bounds the limiter's memory.
const maxAddresses = 10_000

// loopbackFactor is how much more loopback may do: all visitors may come
// through it when a proxy on the same machine isn't told of.
const loopbackFactor = 100

// limiter bounds how many sessions an address may begin.
type limiter struct {
	perMinute int

	mu      sync.Mutex
	buckets map[netip.Prefix]*rate.Limiter
}

func newLimiter(perMinute int) *limiter {
	return &limiter{perMinute: perMinute, buckets: map[netip.Prefix]*rate.Limiter{}}
}

// take returns 0 where the request may go on, else how long to wait.
func (l *limiter) take(r *http.Request) time.Duration {
	who := address(r)
	burst := l.perMinute
	if who.Addr().IsLoopback() {
		burst *= loopbackFactor
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[who]
	if !ok {
		l.makeRoom(now)
		b = rate.NewLimiter(rate.Limit(float64(burst)/60), burst)
		l.buckets[who] = b
	}
	if b.AllowN(now, 1) {
		return 0
	}
	wait := time.Duration((1 - b.TokensAt(now)) / float64(b.Limit()) * float64(time.Second))
	return max(wait, time.Second)
}

// makeRoom forgets addresses whose bucket is full again, which changes nothing
// for them, and any one address if that isn't enough.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.buckets) < maxAddresses {
		return
	}
	for who, b := range l.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(l.buckets, who)
		}
	}
	for who := range l.buckets {
		if len(l.buckets) < maxAddresses {
			return
		}
		delete(l.buckets, who)
	}
}

// address is what one household or company has: an IPv4 address or an IPv6
// /64. The server has put the client behind a trusted proxy into RemoteAddr.
func address(r *http.Request) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	} else if ip.Is6() {
		bits = 128
	}
	p, _ := ip.Prefix(bits)
	return p
}
