package httplimit

import (
	"net/http"
	"net/netip"
)

// NoAddress is the key of all clients whose address is empty or cannot be parsed.
const NoAddress = "no-address"

// ByAddress returns an Options.Key that identifies clients by the address that opened the connection, as
// AddressKey does. It panics if ipv6Bits is not from 1 to 128.
func ByAddress(ipv6Bits int) func(*http.Request) string {
	if ipv6Bits < 1 || ipv6Bits > 128 {
		panic("httplimit: ipv6Bits is not from 1 to 128")
	}
	return func(r *http.Request) string { return AddressKey(r.RemoteAddr, ipv6Bits) }
}

// AddressKey returns the key of a client's address, which may have a port: an IPv4 address unchanged
// ("192.0.2.1"), the first ipv6Bits of an IPv6 address ("2001:db8::/64"; 128: the address itself), and
// NoAddress for anything else. It is never empty. An IPv4-mapped IPv6 address is an IPv4 address; a zone is
// dropped.
func AddressKey(address string, ipv6Bits int) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		withPort, err := netip.ParseAddrPort(address)
		if err != nil {
			return NoAddress
		}
		ip = withPort.Addr()
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() || ipv6Bits == 128 {
		return ip.String()
	}
	prefix, err := ip.Prefix(ipv6Bits)
	if err != nil {
		return NoAddress
	}
	return prefix.String()
}
