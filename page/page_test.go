package page_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/page"
)

// A pageTest is a page of an engine, behind an HTTP server.
type pageTest struct {
	t       *testing.T
	engine  *engine.Engine
	session *engine.Session
	page    *page.Page
	ticks   chan time.Time
	url     string
	remote  bool // clients are on another machine
}

func newPageTest(t *testing.T, directives ...string) *pageTest {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(directives, nil))
	p := &pageTest{t: t, ticks: make(chan time.Time)}
	p.engine = engine.New(engine.Options{Config: cfg, Clock: clock.New(clock.Sources{
		Monotonic: func() int64 { return 0 },
		Wall:      func() int64 { return 1_700_000_000_000_000 },
	})})
	p.session = p.engine.NewSession(engine.Peer{Owner: true})
	t.Cleanup(p.session.Close)
	p.page = page.New(page.Options{Engine: p.engine, Peer: func(remote net.Addr) engine.Peer {
		return engine.Peer{Addr: remote.String(), Network: "a network", Local: !p.remote}
	}})
	p.page.TickBy(p.ticks)
	mux := http.NewServeMux()
	p.page.Register(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(p.page.Close)
	p.url = server.URL
	return p
}

// do runs a command of the program and returns its reply's text.
func (p *pageTest) do(args ...string) string {
	var words [][]byte
	for _, a := range args {
		words = append(words, []byte(a))
	}
	return strings.Clone(p.session.Do(words).Str())
}

// ask sends a request and returns the reply and its body.
func (p *pageTest) ask(method, path string, change ...func(r *http.Request)) (*http.Response, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, http.NoBody)
	require.NoError(p.t, err)
	for _, c := range change {
		c(r)
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(p.t, err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	require.NoError(p.t, err)
	return reply, string(body)
}

func user(name, password string) func(r *http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

func host(name string) func(r *http.Request) { return func(r *http.Request) { r.Host = name } }

func site(s string) func(r *http.Request) {
	return func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", s) }
}

func TestPage(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	reply, body := p.ask("GET", "/")
	require.Equal(t, 200, reply.StatusCode)
	require.Contains(t, body, "<title>zlimit</title>")
	require.NotContains(t, body, "/* style */")
	require.NotContains(t, body, "/* script */")
	require.NotRegexp(t, `(?i:src|href)="?(https?:)?//|@import|\burl\(`, body, "no outside resources")
	markup := regexp.MustCompile(`(?s)<style>.*</style>|<script>.*</script>`).ReplaceAllString(body, "")
	require.NotRegexp(t, `(?i)<[^>]*\s(on[a-z]+|style)=`, markup, "inline handlers and styles")
	require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`, body)
	require.Less(t, len(body), 64<<10)
	for name, value := range map[string]string{
		"Content-Type":                 "text/html; charset=utf-8",
		"Cache-Control":                "no-store",
		"Content-Security-Policy":      page.Policy,
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		require.Equal(t, value, reply.Header.Get(name), name)
	}
	require.NotContains(t, page.Policy, "unsafe")
	reply, body = p.ask("HEAD", "/")
	require.Equal(t, 200, reply.StatusCode)
	require.Empty(t, body)
}

// TestRequests: what is refused, and how.
func TestRequests(t *testing.T) {
	t.Parallel()
	open := newPageTest(t)
	secret := newPageTest(t, "--requirepass", "secret")
	secret.do("ACL", "SETUSER", "reader", "on", ">r", "+info")
	secret.do("ACL", "SETUSER", "gone", "off", ">g", "+@all")
	far := newPageTest(t)
	far.remote = true
	farSecret := newPageTest(t, "--requirepass", "secret")
	farSecret.remote = true
	farTrusted := newPageTest(t, "--protected-mode", "no")
	farTrusted.remote = true
	for _, row := range []struct {
		p      *pageTest
		method string
		path   string
		change func(r *http.Request)
		status int
		body   string
	}{
		{open, "GET", "/", nil, 200, "<!doctype html>"},
		{open, "GET", "/?x=<script>", nil, 200, "<!doctype html>"},
		{open, "GET", "/command?arg=info&arg=clients", nil, 200, `{"reply":"# Clients`},
		{open, "GET", "/command?arg=CLIENT&arg=list", nil, 200, `{"reply":"id=`},
		{open, "GET", "/command?arg=info&arg=%ff%00", nil, 200, `{"reply":""}`},

		// Paths and methods.
		{open, "POST", "/", nil, 405, "Method Not Allowed"},
		{open, "POST", "/command?arg=info", nil, 405, "Method Not Allowed"},
		{open, "DELETE", "/events", nil, 405, "Method Not Allowed"},
		{open, "HEAD", "/events", nil, 405, ""},
		{open, "HEAD", "/command?arg=info", nil, 405, ""},
		{open, "GET", "/index.html", nil, 404, ""},
		{open, "GET", "/static/page.html", nil, 404, ""},
		{open, "GET", "/%2e%2e/etc/passwd", nil, 404, ""},
		{open, "GET", "/..%2f..%2fetc/passwd", nil, 404, ""},
		{open, "GET", "/command/", nil, 404, ""},
		{open, "GET", "/%00", nil, 404, ""},
		{open, "GET", "/<script>alert(1)</script>", nil, 404, "404 page not found"},

		// Commands that do more than read.
		{open, "GET", "/command", nil, 400, "the page runs only: info, "},
		{open, "GET", "/command?arg=", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=flushall", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=get&arg=k", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=client&arg=kill", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=client%20list", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=slowlog&arg=reset", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=RL.ALLOW&arg=k&arg=1&arg=1m", nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=info" + strings.Repeat("&arg=x", 64), nil, 400, "the page runs only"},
		{open, "GET", "/command?arg=rl.info", nil, 200, `{"error":"ERR wrong number of`},
		{open, "GET", "/events?within=2m", nil, 400, "within must be 1m, 10m or 1h"},

		// Names that anyone can give to this address.
		{open, "GET", "/", host("evil.example"), 403, "DNS rebinding"},
		{open, "GET", "/events", host("evil.example:9100"), 403, "DNS rebinding"},
		{open, "GET", "/command?arg=info", host("localhost.evil.example"), 403, "DNS rebinding"},
		{open, "GET", "/", host("localhost:1"), 200, "<!doctype"},
		{secret, "GET", "/", host("zlimit.example"), 401, "wrong user or password"},

		// Other sites.
		{open, "GET", "/", site("cross-site"), 200, "<!doctype"},
		{open, "GET", "/command?arg=info", site("cross-site"), 403, "only the page itself"},
		{open, "GET", "/events", site("same-site"), 403, "only the page itself"},
		{open, "GET", "/command?arg=info", site("same-origin"), 200, "{"},

		// Users.
		{secret, "GET", "/", nil, 401, "wrong user or password\n"},
		{secret, "GET", "/events", nil, 401, "wrong user or password\n"},
		{secret, "GET", "/command?arg=info", nil, 401, "wrong user or password\n"},
		{secret, "GET", "/", user("", "wrong"), 401, "wrong user or password\n"},
		{secret, "GET", "/", user("gone", "g"), 401, "wrong user or password\n"},
		{secret, "GET", "/", user("", "secret"), 200, "<!doctype"},
		{secret, "GET", "/", user("default", "secret"), 200, "<!doctype"},
		{secret, "GET", "/command?arg=info&arg=server", user("reader", "r"), 200, `{"reply":"# Server`},
		{secret, "GET", "/command?arg=client&arg=list", user("reader", "r"), 200, `{"error":"NOPERM ` +
			`this user has no permissions to run the 'client|list' command"}`},
		{far, "GET", "/", nil, 403, "protected-mode"},
		{far, "GET", "/command?arg=info", nil, 403, "protected-mode"},
		{farSecret, "GET", "/", nil, 401, "wrong user"},
		{farSecret, "GET", "/", user("", "secret"), 200, "<!doctype"},
		{farTrusted, "GET", "/", nil, 200, "<!doctype"},
	} {
		var changes []func(r *http.Request)
		if row.change != nil {
			changes = append(changes, row.change)
		}
		reply, body := row.p.ask(row.method, row.path, changes...)
		require.Equal(t, row.status, reply.StatusCode, "%s %s: %s", row.method, row.path, body)
		require.True(t, strings.HasPrefix(strings.ToLower(body), strings.ToLower(row.body)) ||
			strings.Contains(body, row.body), "%s %s: %s", row.method, row.path, body)
		require.Equal(t, row.status == 401, reply.Header.Get("WWW-Authenticate") != "", row.path)
	}
}

// TestBodies: a body is refused before it is read, whatever its length.
func TestBodies(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	for _, length := range []string{"Content-Length: 1073741824", "Transfer-Encoding: chunked"} {
		for _, path := range []string{"/", "/events", "/command?arg=info"} {
			c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			require.NoError(t, err)
			_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+length+"\r\n\r\n")
			require.NoError(t, err)
			reply, err := io.ReadAll(c)
			require.NoError(t, err, "the server closes the connection")
			require.Contains(t, string(reply), "HTTP/1.1 413 ", path)
			require.NoError(t, c.Close())
		}
	}
}

// TestGuesses: logins that fail are slowed as those of AUTH.
func TestGuesses(t *testing.T) {
	t.Parallel()
	p := newPageTest(t, "--requirepass", "secret")
	for range 10 {
		reply, _ := p.ask("GET", "/", user("", "wrong"))
		require.Equal(t, 401, reply.StatusCode)
	}
	reply, body := p.ask("GET", "/", user("", "secret"))
	require.Equal(t, 429, reply.StatusCode)
	require.Equal(t, "too many logins from this address have failed\n", body)
}

func TestOwnNames(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{
		"localhost": true, "LOCALHOST:9100": true, "localhost.": true, "page.localhost:80": true,
		"127.0.0.1": true, "127.0.0.1:9100": true, "[::1]": true, "[::1]:9100": true, "192.0.2.1:1": true,
		"evil.example": false, "evil.example:9100": false, "localhost.evil.example": false, "": false,
		"127.0.0.1.nip.example": false, "0x7f000001": false, "2130706433": false, "notlocalhost": false,
		"127.0.0.1@evil.example": false, "localhost:80:80": false,
	} {
		require.Equal(t, own, page.IsOwnName(name), name)
	}
}
