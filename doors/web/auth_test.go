package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

const edge = "/v1/auth?domain=edge&method=x-original-method&uri=x-original-uri&address=x-real-ip" +
	"&headers=x-tenant"

func TestNoPolicies(t *testing.T) {
	b := newBench(t)
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
