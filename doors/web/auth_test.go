package web_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

const edge = "/v1/auth?domain=edge&method=x-original-method&uri=x-original-uri&address=x-real-ip" +
	"&headers=x-tenant"

const anyHeader = "/v1/auth?domain=address&address=a"

// What a proxy sets.
var byProxy = []string{"X-Original-Method: GET", "X-Original-URI: /a?b=c", "X-Real-IP: 192.0.2.1"}

func TestOriginalRequests(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		target  string
		headers []string
		want    string
	}{
		{edge, byProxy, "edge; remote_address=192.0.2.1; method=GET path=/a"},
		{edge, append([]string{"X-Tenant: t"}, byProxy...), "edge; remote_address=192.0.2.1; " +
			"method=GET path=/a; tenant=t"},
		{ // what the query does not name is not believed
			edge, append([]string{
				"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Method: PUT", "X-Forwarded-Uri: /z",
				"Forwarded: for=9.9.9.9", "X-HTTP-Method-Override: PUT", "X-Original-URL: /z",
				"X_Real_IP: 9.9.9.9", "Domain: tenant",
			}, byProxy...),
			"edge; remote_address=192.0.2.1; method=GET path=/a",
		},
		{
			"/v1/auth?domain=address&address=X-Forwarded-For",
			[]string{"X-Forwarded-For: 9.9.9.9, 8.8.8.8, 192.0.2.7"},
			"address; remote_address=192.0.2.7",
		},
		{anyHeader, []string{"A: 192.0.2.7:81"}, "address; remote_address=192.0.2.7"},
		{anyHeader, []string{"A: ::ffff:192.0.2.7"}, "address; remote_address=192.0.2.7"},
		{anyHeader, []string{"A: 2001:DB8:0::1%eth0"}, "address; remote_address=2001:db8::1"},
		{anyHeader, []string{"A: [2001:db8::1]:81"}, "address; remote_address=2001:db8::1"},
		{"/v1/auth?domain=tenant&headers=a,x-tenant", nil, ""},
	} {
		w, body := b.do(request("GET", c.target, "", c.headers...))
		require.Equal(t, 200, w.Code, body)
		require.Equal(t, c.want, b.last())
	}
	require.Empty(t, b.logged)
}

func TestPaths(t *testing.T) {
	b := newBench(t)
	for uri, want := range map[string]string{
		"/": "/", "/a/": "/a/", "/a?/../b": "/a", "/a#b": "/a", "//a": "/a",
		"/./a/../b//c": "/b/c",
		"/%61%2Fb":     "/a/b",
		"/a/..":        "/", "/a/b/.": "/a/b/", "/../../x": "/x", "/%2e%2e/x": "/x", "*": "*",
		"http://h/x/?y": "/x/",
		"http://h":      "/", "/a%3Fb": "/a?b", "/?x=://y": "/", "/a/x://y": "/a/x:/y",
		"": "", "a": "", "/%zz": "", "/%": "", "?x": "", "h:81": "",
	} {
		w, body := b.do(request("GET", edge, "",
			"X-Original-Method: GET", "X-Original-URI: "+uri, "X-Real-IP: ::1"))
		if want == "" {
			require.Equal(t, 400, w.Code, uri)
			continue
		}
		require.Equal(t, 200, w.Code, uri+body)
		require.Equal(t, "edge; remote_address=::1; method=GET path="+want, b.last(), uri)
	}
}

// TestHostileHeaders has what a client may add to its request, with which the proxy's headers are not clear.
func TestHostileHeaders(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ replaced, by string }{
		{"", "X-Real-IP: 9.9.9.9"},
		{"", "X-Original-URI: /a"},
		{"", "X-Original-Method: GET"},
		{"X-Real-IP", "X-Tenant: t"},
		{"X-Real-IP", "X-Real-IP: "},
		{"X-Real-IP", "X-Real-IP: 192.0.2.1,"},
		{"X-Real-IP", "X-Real-IP: unknown"},
		{"X-Original-Method", "X-Original-Method: get"},
		{"X-Original-Method", "X-Original-Method: " + strings.Repeat("A", 33)},
		{"X-Original-Method", "X-Tenant: t"},
		{"X-Original-URI", "X-Tenant: t"},
	} {
		headers := []string{c.by}
		for _, h := range byProxy {
			if c.replaced == "" || !strings.HasPrefix(h, c.replaced) {
				headers = append(headers, h)
			}
		}
		w, body := b.do(request("GET", edge, "", headers...))
		require.Equal(t, 400, w.Code, "%v: %s", headers, body)
		require.Empty(t, b.last())
	}
	twice := append([]string{"X-Tenant: a", "X-Tenant: b"}, byProxy...)
	w, _ := b.do(request("GET", edge, "", twice...))
	require.Equal(t, 400, w.Code)
	require.Empty(t, b.logged, "a client cannot fill the log")
}

// TestProxiesAreToldMistakes of their configuration.
func TestProxiesAreToldMistakes(t *testing.T) {
	b := newBench(t)
	for query, want := range map[string]string{
		"":                                   "needs domain",
		"domain=":                            "the parameter domain",
		"domain=edge&domain=tenant":          "the parameter domain",
		"domain=none":                        `the domain "none" has no rate_limits`,
		"domain=plain":                       `the domain "plain" has no rate_limits`,
		"domain=edge&addr=x":                 `unknown parameter "addr"`,
		"domain=edge;x":                      "is not valid",
		"domain=edge":                        "address=HEADER",
		"domain=edge&address=x-real-ip":      "method=HEADER",
		"domain=tenant":                      "the policies use the header x-tenant",
		"domain=tenant&headers=x-tenan":      "the policies use the header x-tenant",
		"domain=tenant&headers=host":         "headers cannot have host",
		"domain=address&credentials=x-proxy": "the proxy does not set x-proxy",
	} {
		b.now = b.now.Add(1e9)
		b.logged = nil
		w, body := b.do(request("GET", "/v1/auth?"+query, "", byProxy...))
		require.Equal(t, 500, w.Code, query)
		require.Contains(t, body, want, query)
		require.Equal(t, []string{"/v1/auth: " + body}, b.logged, query)
	}
	b.set = nil
	w, body := b.do(request("GET", "/v1/auth?domain=edge", ""))
	require.Equal(t, 500, w.Code)
	require.Equal(t, "no policies are loaded", body)
}

// TestCredentialsOfProxies are not the client's, which may guess passwords.
func TestCredentialsOfProxies(t *testing.T) {
	b := newBench(t)
	const target = "/v1/auth?domain=address&address=x-real-ip"
	ask := func(target string, headers ...string) int {
		w, _ := b.do(request("GET", target, "", append(headers, "X-Real-IP: ::1")...))
		return w.Code
	}
	require.Equal(t, 200, ask(target, "Authorization: Basic client"))
	const named = target + "&credentials=x-proxy"
	require.Equal(t, 200, ask(named, "Authorization: Basic client", "X-Proxy: Basic proxy"))
	require.Equal(t, 400, ask(named, "X-Proxy: Basic client", "X-Proxy: Basic proxy"))
	require.Equal(t, []doors.Credentials{
		{Addr: "192.0.2.1:1234"}, {Addr: "192.0.2.1:1234", Authorization: "Basic proxy"},
	}, b.logins)
}

func TestDeniedRequests(t *testing.T) {
	b := newBench(t)
	b.decide = func(_ *doors.Request, response *doors.Response) error {
		response.Code, response.Binding = doors.OverLimit, 0
		response.Statuses = []doors.Status{{
			Code: doors.OverLimit, HasLimit: true, Limit: doors.Limit{Requests: 2, Unit: 1}, HasReset: true,
			RetryMs: 1,
		}}
		return nil
	}
	w, body := b.do(request("GET", edge, "", byProxy...))
	require.Equal(t, 429, w.Code)
	require.Equal(t, "too many requests", body)
	require.Equal(t, `"edge";q=2;w=1 "edge";r=0;t=1 1 2 0 1`, shown(w.Header()))
}
