package server_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// startNowMs is where the clock of a test's server stands.
const startNowMs = 1_700_000_000_000

// start runs a server on a free port for one test, with directives as they
// stand on a command line.
func start(t *testing.T, args ...string) *server.Server {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(args, nil))
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true})
	require.NoError(t, err)
	srv.SetHandshakeTimeout(wireTimeout)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-served)
	})
	return srv
}

// startForTest runs a server whose clock is held at startNowMs.
func startForTest(t *testing.T, directives ...string) (dial func() net.Conn, setClock func(nowMs int64)) {
	t.Helper()
	srv := start(t, append([]string{"--bind", "127.0.0.1"}, directives...)...)
	clock := srv.Engine().Clock()
	clock.Freeze()
	require.NoError(t, clock.Set(startNowMs))
	dial = func() net.Conn {
		c, err := net.Dial("tcp", srv.Addr().String())
		require.NoError(t, err)
		return c
	}
	return dial, func(nowMs int64) { require.NoError(t, clock.Set(nowMs)) }
}
