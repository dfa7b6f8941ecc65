package metrics_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/metrics"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// TestProbes checks what probes see of an engine from its opening to its end.
func TestProbes(t *testing.T) {
	t.Parallel()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs([]string{"--save", "3600 1"}, nil))
	d := crashdisk.New(1)
	still := func() int64 { return 1_700_000_000_000_000 }
	e := engine.New(engine.Options{
		Config: cfg, Disk: d.FS(), Clock: clock.New(clock.Sources{Monotonic: still, Wall: still}),
	})
	base := "http://" + listen(t, e)
	require.NoError(t, e.Open())
	check := func(want int, reason string) {
		t.Helper()
		status, body := get(t, http.MethodGet, base+"/healthz")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "ok\n", body)
		status, body = get(t, http.MethodGet, base+"/readyz")
		require.Equal(t, want, status)
		require.Contains(t, body, reason)
		status, body = get(t, http.MethodHead, base+"/readyz")
		require.Equal(t, want, status)
		require.Empty(t, body)
	}
	check(http.StatusServiceUnavailable, "loading\n")
	require.NoError(t, e.Load(func() {}))
	check(http.StatusOK, "ready\n")

	s := e.NewSession(engine.Peer{Local: true})
	defer s.Close()
	save := func() {
		do(s, "BGSAVE")
		for {
			info := s.Do([][]byte{[]byte("INFO"), []byte("persistence")})
			if !strings.Contains(info.Str(), "rdb_bgsave_in_progress:1") {
				return
			}
			runtime.Gosched()
		}
	}
	do(s, "SET k v")
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == crashdisk.Rename {
			return crashdisk.Fault{Err: syscall.ENOSPC}
		}
		return crashdisk.Fault{}
	})
	save()
	check(http.StatusServiceUnavailable, "misconf: ")
	d.Hook(nil)
	save()
	check(http.StatusOK, "ready\n")
	e.End()
	check(http.StatusServiceUnavailable, "shutting down\n")
}

// TestProbesNeedNoPassword checks that probes are answered where scrapes are not.
func TestProbesNeedNoPassword(t *testing.T) {
	t.Parallel()
	e, s := newEngine(t)
	do(s, "CONFIG SET requirepass secret")
	m, err := metrics.Listen("*:0", e, peer)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close(t.Context())) }()
	_, port, err := net.SplitHostPort(m.Addr().String())
	require.NoError(t, err)
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusUnauthorized,
	} {
		status, _ := get(t, http.MethodGet, "http://127.0.0.1:"+port+path)
		require.Equal(t, want, status, path)
	}
}

// TestHostileProbes sends requests that no orchestrator sends. The next probe is
// answered all the same.
func TestHostileProbes(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	address := listen(t, e)
	for _, c := range []struct{ request, want string }{
		{"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "405 "},
		{"DELETE /readyz HTTP/1.1\r\nHost: a\r\n\r\n", "405 "},
		{"GET /healthz HTTP/1.1\r\nHost: a\"><script>\r\n\r\n", "400 "},
		{"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400 "},
		{"GET /healthz HTTP/1.1\r\n\r\n", "400 "},
		{"GET /readyz HTTP/1.1\r\nHost: evil.example\r\n\r\n", "200 "},
		{"GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", "404 "},
		{"GET /healthz/..%2f..%2fetc HTTP/1.1\r\nHost: a\r\n\r\n", "404 "},
		{"GET /healthz%00 HTTP/1.1\r\nHost: a\r\n\r\n", "404 "},
		{"GET //evil.example/%2e%2e HTTP/1.1\r\nHost: a\r\n\r\n", "404 "},
		{"GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "431 "},
		{"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "400 "},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400 "},
	} {
		c1, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, err = io.WriteString(c1, c.request)
		require.NoError(t, err)
		line, err := bufio.NewReader(c1).ReadString('\n')
		require.NoError(t, err, "%.60q", c.request)
		require.Contains(t, line, c.want, "%.60q", c.request)
		require.NotContains(t, line, "evil")
		require.NoError(t, c1.Close())
	}
	status, _ := get(t, http.MethodGet, "http://"+address+"/healthz")
	require.Equal(t, http.StatusOK, status)
}

// TestProbeWithBody sends the body of a GB that a request announces: it is answered
// before and not read, apart from what net/http reads to let the reply arrive.
func TestProbeWithBody(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	c, err := net.Dial("tcp", listen(t, e))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(c, "GET /readyz HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 1<<30)
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, http.StatusOK, r.StatusCode)
	block, sent := make([]byte, 64<<10), 0
	for err == nil && sent < 1<<30 {
		var n int
		n, err = c.Write(block)
		sent += n
	}
	require.Error(t, err)
	require.False(t, errors.Is(err, io.EOF) || sent > 64<<20, "%d bytes were taken", sent)
}

// TestHalfHeadersKeepNoProbeOut opens connections that send half a header and stay: probes, scrapes
// and the page are answered all the same.
func TestHalfHeadersKeepNoProbeOut(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	address := listen(t, e)
	half := func(n int) {
		t.Helper()
		for range n {
			c, err := net.Dial("tcp", address)
			require.NoError(t, err)
			t.Cleanup(func() { c.Close() })
			// The server may have closed it, because others came.
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n")
		}
	}
	half(300)
	for range 15 {
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/"} {
			ask, err := net.Dial("tcp", address)
			require.NoError(t, err)
			require.NoError(t, ask.SetDeadline(time.Now().Add(30*time.Second)), "a guard only")
			half(10)
			_, err = fmt.Fprintf(ask, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			require.NoError(t, err)
			r, err := http.ReadResponse(bufio.NewReader(ask), nil)
			require.NoError(t, err, path)
			require.Equal(t, http.StatusOK, r.StatusCode, path)
			require.NoError(t, r.Body.Close())
			require.NoError(t, ask.Close())
		}
	}
}
