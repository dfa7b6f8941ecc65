package server_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server"
)

const webPolicies = `
domain: edge
rate_limits:
- actions:
  - remote_address: {}
descriptors:
- key: remote_address
  rate_limit: {unit: year, requests_per_unit: 2}
---
domain: pair
count: all
descriptors:
- key: a
  rate_limit: {unit: year, requests_per_unit: 1}
- key: b
  rate_limit: {unit: year, requests_per_unit: 2}
`

// startWeb starts a server with rl-http-addr.
func startWeb(t *testing.T, args ...string) *server.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policies.yaml")
	require.NoError(t, os.WriteFile(file, []byte(webPolicies), 0o600))
	return start(t, append([]string{"--rl-policies", file, "--rl-http-addr", "127.0.0.1:0"}, args...)...)
}

// askWeb returns the status, the header and the body of a request's answer. credentials may be "".
func askWeb(t *testing.T, c *http.Client, url, body, credentials string) (
	status int, h http.Header, text string,
) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if body != "" {
		r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Real-IP", "192.0.2.1")
	if name, password, ok := strings.Cut(credentials, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	reply, err := c.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	got, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return reply.StatusCode, reply.Header, strings.TrimSpace(string(got))
}

func TestDoorOverHTTP(t *testing.T) {
	s := startWeb(t)
	url := "http://" + s.HTTPDoorAddr().String() + "/v1/"
	c := new(http.Client)
	defer c.CloseIdleConnections()
	for i := range 3 {
		status, h, text := askWeb(t, c, url+"auth?domain=edge&address=x-real-ip", "", "")
		require.Equal(t, []int{200, 200, 429}[i], status, text)
		require.Equal(t, `"edge";q=2;w=31536000`, h.Get("RateLimit-Policy"))
		require.Regexp(t, []string{
			`^"edge";r=1;t=\d+$`, `^"edge";r=0;t=\d+$`, `^"edge";r=0;t=\d+$`,
		}[i], h.Get("RateLimit"))
		require.Equal(t, i == 2, h.Get("Retry-After") != "")
		require.Equal(t, "2", h.Get("X-RateLimit-Limit"))
	}
	const pair = `{"domain":"pair","descriptors":[{"entries":[{"key":"a","value":"1"}]},` +
		`{"entries":[{"key":"b","value":"1"}]}]}`
	for i := range 2 {
		status, _, text := askWeb(t, c, url+"check", pair, "")
		require.Equal(t, []int{200, 429}[i], status, text)
	}
	const second = `{"domain":"pair","descriptors":[{"entries":[{"key":"b","value":"1"}]}]}`
	status, _, text := askWeb(t, c, url+"check", second, "")
	require.Equal(t, 200, status)
	require.Contains(t, text, `"remaining":0`, "what was denied has not counted")
	status, _, text = askWeb(t, c, url+"check", `{"domain":"pair","descriptors":[]}`, "")
	require.Equal(t, 400, status, text)
}

// TestKeysOverHTTP: a body may have a key with limits of its own, on a server and on a gateway alike.
func TestKeysOverHTTP(t *testing.T) {
	s := startWeb(t)
	g := startGateway(t, s, "--rl-http-addr", "127.0.0.1:0")
	c := new(http.Client)
	defer c.CloseIdleConnections()
	for i, at := range []*server.Server{s, g} {
		url := "http://" + at.HTTPDoorAddr().String() + "/v1/check"
		ask := func(body string) (int, http.Header, string) { return askWeb(t, c, url, body, "") }
		key := []string{"of-server", "of-gateway"}[i]
		body := `{"key":"` + key + `","limits":[{"limit":9,"window":"1h"},{"limit":3,"window":"1d"}],` +
			`"cost":2}`
		status, h, text := ask(body)
		require.Equal(t, 200, status, text)
		require.Regexp(t,
			`^{"code":"OK","limit":3,"window_ms":86400000,"remaining":1,"reset_ms":86[34]\d{5}}$`, text)
		require.Equal(t, `"default";q=3;w=86400`, h.Get("RateLimit-Policy"))
		require.Regexp(t, `^"default";r=1;t=86[34]\d\d$`, h.Get("RateLimit"))
		status, h, text = ask(body)
		require.Equal(t, 429, status, text)
		require.Regexp(t, `^{"code":"OVER_LIMIT",.*"remaining":1,.*"retry_ms":86[34]\d{5}}$`, text)
		require.Regexp(t, `^86[34]\d\d$`, h.Get("Retry-After"))
		const second = `"limits":[{"limit":1,"window":"1s"}]`
		for wrong, want := range map[string]string{
			`{"key":"k","limits":[]}`:                                  "one limit at least",
			`{"key":"k","limits":[{"limit":1,"window":"a"}]}`:          "window must be",
			`{"key":"k",` + second + `,"algorithm":"LOG 1s"}`:          "an algorithm is",
			`{"key":"` + key + `",` + second + `,"algorithm":"FIXED"}`: "key holds LOG",
		} {
			status, _, text = ask(wrong)
			require.Equal(t, 400, status, text)
			require.Contains(t, text, want)
		}
		one, err := s.Do(t.Context(), "ZCARD", key)
		require.NoError(t, err)
		require.EqualValues(t, 1, one)
	}
}

func TestUsersOfDoorOverHTTP(t *testing.T) {
	s := startWeb(t, "--requirepass", "secret", "--user", "edge", "on", ">pass", "+rl.check", "~edge_*",
		"--user", "pair", "on", ">pass", "+rl.check", "~{pair}_*")
	check := "http://" + s.HTTPDoorAddr().String() + "/v1/check"
	c := new(http.Client)
	defer c.CloseIdleConnections()
	const (
		edge = `{"domain":"edge","descriptors":[{"entries":[{"key":"remote_address","value":"x"}]}]}`
		pair = `{"domain":"pair","descriptors":[{"entries":[{"key":"a","value":"x"}]}]}`
	)
	for _, row := range []struct {
		body, credentials string
		want              int
	}{
		{edge, "", 401},
		{edge, "edge:wrong", 401},
		{edge, "edge:pass", 200},
		{pair, "edge:pass", 403},
		{pair, "pair:pass", 200},
		{edge, "pair:pass", 403},
		{edge, "default:secret", 200},
	} {
		status, _, text := askWeb(t, c, check, row.body, row.credentials)
		require.Equal(t, row.want, status, "%v %s", row, text)
	}
	auth := "http://" + s.HTTPDoorAddr().String() + "/v1/auth?domain=edge&address=x-real-ip"
	status, _, _ := askWeb(t, c, auth, "", "edge:pass")
	require.Equal(t, 401, status, "the client's credentials are not the proxy's")
	status, _, text := askWeb(t, c, auth+"&credentials=authorization", "", "edge:pass")
	require.Equal(t, 200, status, text)

	_, err := s.Do(t.Context(), "ACL", "DELUSER", "edge")
	require.NoError(t, err)
	for range 2 { // also if the client that has failed were pooled
		status, _, text = askWeb(t, c, check, edge, "edge:pass")
		require.Equal(t, 401, status, text)
	}
}

func TestDoorOverHTTPS(t *testing.T) {
	certs := newCertificates(t)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	require.NoError(t, os.WriteFile(file, []byte(webPolicies), 0o600))
	s := start(t, "--rl-door-tls", "yes", "--tls-cert-file", certs.cert, "--tls-key-file", certs.key,
		"--tls-ca-cert-file", certs.caFile, "--rl-policies", file, "--rl-http-addr", "127.0.0.1:0",
		"--requirepass", "secret", "--user", "client", "on", ">pass", "+rl.check", "~edge*")
	url := "https://" + s.HTTPDoorAddr().String() + "/v1/auth?domain=edge&address=x-real-ip"
	config := certs.config(certs.client)
	config.NextProtos = []string{"h2", "http/1.1"}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	defer c.CloseIdleConnections()
	status, h, text := askWeb(t, c, url, "", "")
	require.Equal(t, 200, status, text)
	require.Equal(t, "2", h.Get("X-RateLimit-Limit"))
	none := &http.Client{Transport: &http.Transport{TLSClientConfig: certs.config(nil)}}
	defer none.CloseIdleConnections()
	_, err := none.Get(url)
	require.ErrorContains(t, err, "certificate required")
}
