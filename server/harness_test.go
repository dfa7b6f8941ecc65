package server_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/server/pipe"
)

// startNowMs is where the clock of a test's server stands.
const startNowMs = 1_700_000_000_000

// serve runs a server on a free port until the end of the test, or until the test closes it. Directives are
// as they stand on a command line. served is what Serve returns, and then closed.
func serve(t *testing.T, o server.Options, args ...string) (srv *server.Server, served <-chan error) {
	t.Helper()
	if o.Config == nil {
		o.Config = config.New()
	}
	require.NoError(t, o.Config.ParseArgs(args, nil))
	o.FreePort = true
	srv, err := server.Listen(o)
	require.NoError(t, err)
	srv.SetHandshakeTimeout(wireTimeout)
	ended := make(chan error, 1)
	go func() {
		ended <- srv.Serve()
		close(ended)
	}()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-ended)
	})
	return srv, ended
}

// start runs a server for one test.
func start(t *testing.T, args ...string) *server.Server {
	t.Helper()
	srv, _ := serve(t, server.Options{}, args...)
	return srv
}

// servePipe runs a server on a listener in memory until the test ends.
func servePipe(t *testing.T, o server.Options) (*server.Server, *pipe.Listener) {
	t.Helper()
	srv, l := server.New(o), pipe.Listen()
	require.NoError(t, srv.Add(l))
	go srv.Serve()
	t.Cleanup(func() { srv.Close() })
	return srv, l
}

// refused returns why a server with directives does not start.
func refused(t *testing.T, args ...string) error {
	t.Helper()
	cfg := config.New()
	if err := cfg.ParseArgs(args, nil); err != nil {
		return err
	}
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true})
	require.Nil(t, srv)
	require.Error(t, err)
	return err
}

// startForTest runs a server whose clock is held at startNowMs.
func startForTest(t *testing.T, directives ...string) (dial func() net.Conn, setClock func(nowMs int64)) {
	t.Helper()
	// Without cron: which command finds that a key has expired is part of some sections.
	args := append([]string{"--bind", "127.0.0.1"}, directives...)
	srv, _ := serve(t, server.Options{NoCron: true}, args...)
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
