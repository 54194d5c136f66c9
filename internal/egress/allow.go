package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rule is one entry of the allow-list.
type rule struct {
	host string     // lower case, without the dot at its end; "" for an address
	sub  bool       // *.host: names below host, not host itself
	addr netip.Addr // unmapped; invalid for a name
	port uint16     // 0 is any
}

// parseRule reads host, host:port, *.host, IP, IP:port, [IPv6] or [IPv6]:port.
func parseRule(entry string) (rule, error) {
	bad := func(why string) (rule, error) {
		return rule{}, fmt.Errorf("allow-list entry %q: %s", entry, why)
	}
	switch {
	case entry == "":
		return bad("is empty; write a host, host:port or IP:port")
	case strings.Contains(entry, "://"), strings.ContainsAny(entry, "/?#@ \t\r\n"):
		return bad("is not a host; write host or host:port, without scheme and path")
	}
	host, port := entry, uint16(0)
	if _, err := netip.ParseAddr(strings.Trim(entry, "[]")); err != nil {
		h, p, err := net.SplitHostPort(entry)
		switch {
		case err == nil:
			n, err := strconv.ParseUint(p, 10, 16)
			if err != nil || n == 0 {
				return bad("the port is a number from 1 to 65535")
			}
			host, port = h, uint16(n)
		case strings.Contains(entry, ":"):
			return bad("is neither host:port nor an address")
		}
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if a.Zone() != "" {
			return bad("an address with a zone can't be listed")
		}
		return rule{addr: a.Unmap(), port: port}, nil
	}
	name, sub := strings.CutPrefix(host, "*.")
	name = normalName(name)
	if err := checkName(name); err != nil {
		return bad(err.Error())
	}
	return rule{host: name, sub: sub, port: port}, nil
}

// normalName folds what makes no difference to where a name leads. Letters
// beyond ASCII stay, for checkName to refuse: strings.ToLower would make a k of
// the Kelvin sign.
func normalName(host string) string {
	lower := func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}
	return strings.TrimSuffix(strings.Map(lower, host), ".")
}

// checkName refuses what is no plain ASCII host name. A name whose last label
// is a number is an address in disguise (2130706433, 0x7f.1, 0177.0.0.1):
// some resolvers read it as one.
func checkName(name string) error {
	if name == "" || len(name) > 253 {
		return fmt.Errorf("a host name has 1 to 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return fmt.Errorf("a label of the host name is empty or too long")
		}
		for _, c := range []byte(l) {
			if c >= 0x80 {
				return fmt.Errorf("write the host name in ASCII (xn--…)")
			}
			if !isNameByte(c) {
				return fmt.Errorf("%q doesn't belong in a host name", c)
			}
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return fmt.Errorf("a number is no host name; write an address as 127.0.0.1")
	}
	return nil
}

// isNameByte tells whether c may stand in a host name, in lower case. An
// underscore isn't allowed there, but in use.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (r rule) portFits(port uint16) bool { return r.port == 0 || r.port == port }

// matches tells whether the rule lists that host, a name or an address.
func (r rule) matches(host string, addr netip.Addr, port uint16) bool {
	switch {
	case !r.portFits(port):
		return false
	case r.addr.IsValid() || addr.IsValid():
		return r.addr.IsValid() && r.addr == addr
	case r.sub:
		return strings.HasSuffix(host, "."+r.host)
	default:
		return r.host == host
	}
}

// listed tells whether some rule lists the host at that port.
func listed(rules []rule, host string, addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.matches(host, addr, port) })
}

// listedExactly tells whether the very name stands there with that port: what
// opens the private addresses that it resolves to.
func listedExactly(rules []rule, host string, port uint16) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return !r.addr.IsValid() && !r.sub && r.host == host && r.port == port
	})
}

// addressListed tells whether the very address stands there with that port.
func addressListed(rules []rule, addr netip.Addr, port uint16) bool {
	return slices.Contains(rules, rule{addr: addr, port: port})
}
