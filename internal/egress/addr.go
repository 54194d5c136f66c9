package egress

import (
	"net/netip"
)

// reach says who can be behind an address.
type reach int

const (
	public  reach = iota // the Internet
	private              // this machine or its network: opened by a name or an address with its port
	special              // link-local (cloud metadata), multicast, reserved: opened by the address with its port only
)

// privateNets are the addresses of this machine and of inside networks.
func privateNets() []netip.Prefix {
	return prefixes(
		"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1122, RFC 1918
		"100.64.0.0/10",       // carrier-grade NAT, RFC 6598
		"::1/128", "fc00::/7", // loopback, unique local (RFC 4193)
	)
}

// specialNets are the addresses of the IANA special-purpose registries that no
// server of the Internet has. In IPv6 what isn't 2000::/3 is special anyway.
func specialNets() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
}

func prefixes(ss ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(ss))
	for i, s := range ss {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// judge sorts addresses; built once for a guard.
type judge struct {
	private, special []netip.Prefix
	global6, nat64   netip.Prefix
}

func newJudge() judge {
	return judge{
		private: privateNets(),
		special: specialNets(),
		global6: netip.MustParsePrefix("2000::/3"),
		nat64:   netip.MustParsePrefix("64:ff9b::/96"), // RFC 6052
	}
}

// reach judges an IPv4-mapped and a NAT64 address by the IPv4 address within:
// that is where the packets go, and in a network with DNS64 every IPv4 host of
// the Internet looks like that.
func (j judge) reach(a netip.Addr) reach {
	if a.Zone() != "" {
		return special
	}
	a = a.Unmap()
	if j.nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, p := range j.private {
		if p.Contains(a) {
			return private
		}
	}
	for _, p := range j.special {
		if p.Contains(a) {
			return special
		}
	}
	if a.Is6() && !j.global6.Contains(a) {
		return special
	}
	return public
}
