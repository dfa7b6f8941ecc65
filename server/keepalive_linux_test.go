package server

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKeepAlive reads the socket options of the accepted connection.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seconds                 string
		on, idle, interval, max int
	}{
		{"300", 1, 300, 100, 3}, // the default
		{"7", 1, 7, 2, 3},
		{"1", 1, 1, 1, 3},
		{"0", 0, 0, 0, 0},
	} {
		cfg := newConfig(t, "--bind", "127.0.0.1", "--tcp-keepalive", c.seconds)
		s := startServer(t, Options{Config: cfg, FreePort: true})
		requirePong(t, s.Addr())
		accepted := firstConn(s)
		require.Equal(t, c.on, sockopt(t, accepted, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE), c.seconds)
		if c.on == 0 {
			continue
		}
		require.Equal(t, c.idle, sockopt(t, accepted, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE), c.seconds)
		require.Equal(t, c.interval, sockopt(t, accepted, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL),
			c.seconds)
		require.Equal(t, c.max, sockopt(t, accepted, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT), c.seconds)
	}
}

// TestKeepAliveAtRunTime: a connection that is idle follows CONFIG SET.
func TestKeepAliveAtRunTime(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	requirePong(t, s.Addr())
	for _, seconds := range []int{9, 0} {
		_, err := s.Do(t.Context(), "CONFIG", "SET", "tcp-keepalive", seconds)
		require.NoError(t, err)
		await(t, "it is not set", func() bool {
			on := sockopt(t, firstConn(s), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
			idle := sockopt(t, firstConn(s), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
			return on == min(seconds, 1) && idle == 9
		})
	}
}

func TestKeepAliveDefault(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	require.Equal(t, 300*time.Second, s.limits.Load().keepAlive)
}

// TestNoDelay: a reply does not wait for the acknowledgement of the previous one.
func TestNoDelay(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	requirePong(t, s.Addr())
	require.Equal(t, 1, sockopt(t, firstConn(s), syscall.IPPROTO_TCP, syscall.TCP_NODELAY))
}

func sockopt(t *testing.T, c *conn, level, name int) (value int) {
	t.Helper()
	if feedsAll {
		t.Skip("the connection has no descriptor of its own with -fed")
	}
	value, err := syscall.GetsockoptInt(c.carrier.(*socket).fd, level, name)
	require.NoError(t, err)
	return value
}
