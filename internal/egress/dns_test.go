package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// fakeDNS answers look-ups from memory, so that a test decides what a name
// resolves to, and can change it between two look-ups.
type fakeDNS struct {
	mu    sync.Mutex
	names map[string][]netip.Addr
	asked map[string]int
}

func newDNS(names map[string][]netip.Addr) *fakeDNS {
	return &fakeDNS{names: names, asked: map[string]int{}}
}

func (f *fakeDNS) set(name string, addrs ...netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name] = addrs
}

// resolver speaks DNS over TCP framing through a pipe.
func (f *fakeDNS) resolver(t *testing.T) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { _ = server.Close() })
		go f.serve(server)
		return client, nil
	}}
}

func (f *fakeDNS) serve(c net.Conn) {
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, q); err != nil {
			return
		}
		a := f.answer(q)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
			return
		}
	}
}

func (f *fakeDNS) answer(q []byte) []byte {
	var labels []string
	i := 12
	for q[i] != 0 {
		n := int(q[i])
		labels = append(labels, string(q[i+1:i+1+n]))
		i += n + 1
	}
	name, qtype := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(q[i+1:])
	question := q[12 : i+5]
	f.mu.Lock()
	f.asked[name]++
	addrs := f.names[name]
	f.mu.Unlock()
	var rrs []byte
	count := uint16(0)
	for _, a := range addrs {
		if a.Is4() != (qtype == 1) || qtype != 1 && qtype != 28 {
			continue
		}
		rrs = append(rrs, 0xc0, 12, byte(qtype>>8), byte(qtype), 0, 1, 0, 0, 0, 0, 0, byte(len(a.AsSlice())))
		rrs = append(rrs, a.AsSlice()...)
		count++
	}
	out := append([]byte{}, q[:2]...)
	out = append(out, 0x84, 0x00, 0, 1)
	out = binary.BigEndian.AppendUint16(out, count)
	out = append(out, 0, 0, 0, 0)
	return append(append(out, question...), rrs...)
}
