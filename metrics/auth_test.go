package metrics_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/metrics"
)

// peer describes clients as zlimit-server does.
func peer(remote net.Addr) engine.Peer {
	host, _, _ := net.SplitHostPort(remote.String())
	return engine.Peer{Addr: remote.String(), Network: host, Local: true}
}

// scrape returns the status of a scrape by "user:password", or without if that is "-", and
// the head of the reply.
func scrape(t *testing.T, m *metrics.Server, credentials string) (status int, text string) {
	t.Helper()
	_, port, err := net.SplitHostPort(m.Addr().String())
	require.NoError(t, err)
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+port+"/metrics", http.NoBody)
	require.NoError(t, err)
	if user, password, ok := strings.Cut(credentials, ":"); ok {
		r.SetBasicAuth(user, password)
	}
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, reply.StatusCode == http.StatusUnauthorized, reply.Header.Get("WWW-Authenticate") != "")
	return reply.StatusCode, string(body)
}

// TestAuthorization: a listener that is not on a loopback address asks for a user who may
// call INFO, by the rules that hold now.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	e, s := newEngine(t)
	everywhere, err := metrics.Listen("*:0", e, peer)
	require.NoError(t, err)
	loopback, err := metrics.Listen("0", e, peer)
	require.NoError(t, err)
	for _, row := range []struct {
		rules       string // of ACL SETUSER, before the scrape
		credentials string
		status      int
	}{
		{"", "-", 200},
		{"", ":", 200},
		{"", ":any", 200},
		{"", "default:any", 200},
		{"", "nobody:any", 401},
		{"default resetpass >secret", "-", 401},
		{"", ":", 401},
		{"", "default:", 401},
		{"", ":Secret", 401},
		{"", ":secret ", 401},
		{"", "other:secret", 401},
		{"", ":secret", 200},
		{"", "default:secret", 200},
		{"default >a:b", ":a:b", 200},
		{"default off", ":secret", 401},
		{"metrics on >m +info", "metrics:m", 200},
		{"", "metrics:n", 401},
		{"", "metrics:", 401},
		{"", "-", 401},
		{"metrics -info", "metrics:m", 403},
		{"metrics +@all -info", "metrics:m", 403},
		{"metrics off", "metrics:m", 401},
		{"default on nopass -info", "-", 401},
	} {
		if row.rules != "" {
			do(s, "ACL SETUSER "+row.rules)
		}
		status, _ := scrape(t, everywhere, row.credentials)
		require.Equal(t, row.status, status, row)
		status, _ = scrape(t, loopback, row.credentials)
		require.Equal(t, 200, status, row)
	}
	require.NoError(t, everywhere.Close(t.Context()))
	require.NoError(t, loopback.Close(t.Context()))
}

// TestProtectedMode: without a password, only scrapes from this machine are answered.
func TestProtectedMode(t *testing.T) {
	t.Parallel()
	e, s := newEngine(t)
	far := func(net.Addr) engine.Peer { return engine.Peer{Addr: "192.0.2.1:1", Network: "192.0.2.1"} }
	m, err := metrics.Listen("*:0", e, far)
	require.NoError(t, err)
	for _, row := range []struct {
		command     string // before the scrape
		credentials string
		status      int
	}{
		{"PING", "-", 403},
		{"PING", "default:any", 403},
		{"CONFIG SET protected-mode no", "-", 200},
		{"CONFIG SET protected-mode yes requirepass secret", "-", 401},
		{"PING", ":secret", 200},
	} {
		do(s, row.command)
		status, _ := scrape(t, m, row.credentials)
		require.Equal(t, row.status, status, row)
	}
	require.NoError(t, m.Close(t.Context()))
}

// TestGuessesOfScrapes: they are slowed and counted as those of AUTH.
func TestGuessesOfScrapes(t *testing.T) {
	t.Parallel()
	e, s := newEngine(t)
	do(s, "ACL SETUSER default resetpass >secret")
	m, err := metrics.Listen("*:0", e, peer)
	require.NoError(t, err)
	for range 10 {
		status, _ := scrape(t, m, ":wrong")
		require.Equal(t, 401, status)
	}
	for _, password := range []string{"wrong", "secret", strings.Repeat("x", 8000)} {
		status, text := scrape(t, m, ":"+password)
		require.Equal(t, 429, status)
		require.Equal(t, "too many logins from this address have failed\n", text)
	}
	other := engine.Peer{Addr: "192.0.2.1:1", Network: "192.0.2.1"}
	require.NoError(t, e.AuthorizeScrape(other, "", "secret"))
	require.Equal(t, int64(10), e.Facts().ACLLog.Denied(acl.DeniedAuth))
	require.NoError(t, m.Close(t.Context()))
}
