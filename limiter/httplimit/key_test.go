package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter/httplimit"
)

func TestAddressKey(t *testing.T) {
	const none = httplimit.NoAddress
	for _, c := range []struct{ address, at64, at128 string }{
		{"192.0.2.1:1234", "192.0.2.1", "192.0.2.1"},
		{"192.0.2.1", "192.0.2.1", "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64", "2001:db8:1:2:3:4:5:6"},
		{"[2001:db8:1:2:ffff::9]:81", "2001:db8:1:2::/64", "2001:db8:1:2:ffff::9"},
		{"2001:DB8:1:3::6", "2001:db8:1:3::/64", "2001:db8:1:3::6"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1", "192.0.2.1"}, // a socket for both protocols
		{"[::1]:80", "::/64", "::1"},
		{"[fe80::1%eth0]:80", "fe80::/64", "fe80::1"},
		{"fe80::1%eth1", "fe80::/64", "fe80::1"},
		{"", none, none},
		{"@", none, none}, // a unix socket
		{"/run/web.sock", none, none},
		{"localhost:80", none, none},
		{"192.0.2.1:", none, none},
		{"192.0.2.256", none, none},
		{"192.0.2.1, 192.0.2.2", none, none}, // two hops of X-Forwarded-For
		{"192.0.2.1\x00", none, none},
		{":80", none, none},
	} {
		require.Equal(t, c.at64, httplimit.AddressKey(c.address, 64), "%q", c.address)
		require.Equal(t, c.at128, httplimit.AddressKey(c.address, 128), "%q", c.address)
		r := &http.Request{RemoteAddr: c.address}
		require.Equal(t, c.at64, httplimit.ByAddress(64)(r), "%q", c.address)
	}
	require.Equal(t, "2001:db8:1::/48", httplimit.AddressKey("2001:db8:1:2::3", 48))
	require.Equal(t, "2001:db8:1:2::2/127", httplimit.AddressKey("2001:db8:1:2::3", 127))
	for _, bits := range []int{-1, 0, 129} {
		require.PanicsWithValue(t, "httplimit: ipv6Bits is not from 1 to 128",
			func() { httplimit.ByAddress(bits) })
	}
	for _, bits := range []int{-1, 129} {
		require.Equal(t, none, httplimit.AddressKey("2001:db8::1", bits), "in doubt one quota for all")
	}
}
