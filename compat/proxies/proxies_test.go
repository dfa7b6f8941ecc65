package proxies

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients, by their addresses.
const (
	client  = "127.0.0.1"
	another = "127.0.0.2"
)

// each runs a test with each proxy.
func each(t *testing.T, test func(t *testing.T, name string, p proxy)) {
	t.Helper()
	for name, p := range map[string]proxy{"nginx": nginx, "haproxy": haproxy, "caddy": caddy} {
		t.Run(name, func(t *testing.T) { test(t, name, p) })
	}
}

// hostile are headers by which a client may try to be somebody else, or to ask for something else.
var hostile = []string{
	"X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1", "X-Address: 192.0.2.1", "Forwarded: for=192.0.2.1",
	"X-Forwarded-Method: GET", "X-Method: GET", "X-Original-Method: GET", "X-HTTP-Method-Override: GET",
	"X-Forwarded-Uri: /", "X-Uri: /", "X-Original-URI: /", "X-Original-URL: /", "X-Rewrite-URL: /",
	"Authorization: Basic eDp5", "Cookie: domain=none",
	"Connection: close, X-Forwarded-For, X-Address, X-Uri, X-Method, X-Forwarded-Uri, X-Forwarded-Method",
}

func TestThirdRequestIsDenied(t *testing.T) {
	each(t, func(t *testing.T, name string, p proxy) {
		r := newRig(t)
		r.start(p, unchanged)
		for range 2 {
			a := r.send(client, "POST", "/login")
			require.Equal(t, 200, a.status, a.body)
			require.Equal(t, "hello", a.body)
			if name != "caddy" {
				require.Regexp(t, `^"edge";r=[01];t=\d+$`, a.header.Get("RateLimit"))
				require.Equal(t, `"edge";q=2;w=31536000`, a.header.Get("RateLimit-Policy"))
			}
			require.Empty(t, a.header.Get("Retry-After"))
		}
		requireDenied(t, r.send(client, "POST", "/login"))
		for _, target := range []string{
			"/login?a=b", "/login?domain=none", "//login", "/./login", "/x/../login", "/%6Cogin",
			"/login?/../x",
		} {
			a := r.send(client, "POST", target)
			require.Equal(t, 429, a.status, target)
		}
		requireDenied(t, r.send(client, "POST", "/login", hostile...))
		for _, h := range hostile {
			require.Equal(t, 429, r.send(client, "POST", "/login", h).status, h)
		}
		require.Equal(t, int64(2), r.served.Load())

		require.Equal(t, 200, r.send(another, "POST", "/login").status)
		require.Equal(t, 200, r.send(another, "POST", "/login", hostile...).status)
		again := r.send(another, "POST", "/login", hostile...)
		require.Equal(t, 429, again.status, "the headers change nothing")
		require.Equal(t, 200, r.send(client, "GET", "/login").status)
		require.Equal(t, 200, r.send(client, "POST", "/other").status)
	})
}

func requireDenied(t *testing.T, a answer) {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Equal(t, `"edge";q=2;w=31536000`, a.header.Get("RateLimit-Policy"))
	require.Regexp(t, `^"edge";r=0;t=\d+$`, a.header.Get("RateLimit"))
	require.Regexp(t, `^\d+$`, a.header.Get("Retry-After"))
}

// TestWithoutZlimit has what each proxy does then.
func TestWithoutZlimit(t *testing.T) {
	each(t, func(t *testing.T, name string, p proxy) {
		r := newRig(t)
		r.start(p, unchanged)
		require.Equal(t, 200, r.send(client, "GET", "/").status)
		r.zlimit.Stop()
		a := r.send(client, "GET", "/")
		require.Equal(t, map[string]int{"nginx": 503, "haproxy": 503, "caddy": 502}[name], a.status, a.body)
		require.Equal(t, int64(1), r.served.Load())
	})
}

// TestZlimitIsSilent: what each proxy does if it is connected and not answered.
func TestZlimitIsSilent(t *testing.T) {
	each(t, func(t *testing.T, name string, p proxy) {
		r := newRig(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		r.door = l.Addr().String()
		r.start(p, unchanged)
		a := r.send(client, "GET", "/")
		require.Equal(t, map[string]int{"nginx": 503, "haproxy": 503, "caddy": 504}[name], a.status, a.body)
		require.Zero(t, r.served.Load())
	})
}

// TestNginxLetsThrough if it is configured so, and denies nevertheless.
func TestNginxLetsThrough(t *testing.T) {
	r := newRig(t)
	r.start(nginx, func(text string) string {
		return replace(t, text, "return 503;", "proxy_pass http://"+r.app+";")
	})
	for _, want := range []int{200, 200, 429} {
		require.Equal(t, want, r.send(client, "POST", "/login").status)
	}
	r.zlimit.Stop()
	require.Equal(t, 200, r.send(client, "GET", "/").status)
}

// TestControl: a proxy that lets the client choose its address is found out by the headers of the tests.
func TestControl(t *testing.T) {
	r := newRig(t)
	r.start(caddy, func(text string) string {
		return replace(t, text, "address=x-forwarded-for", "address=x-real-ip") // which Caddy does not set
	})
	for _, want := range []int{200, 200, 429} {
		require.Equal(t, want, r.send(client, "POST", "/login", "X-Real-IP: 192.0.2.2").status)
	}
	i := 0
	for !strings.HasPrefix(hostile[i], "X-Real-IP") {
		i++
	}
	require.Equal(t, 200, r.send(client, "POST", "/login", hostile[i]).status)
}
