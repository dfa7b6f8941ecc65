package server_test

import (
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server"
)

// configOf returns the directives of a command line.
func configOf(t *testing.T, args ...string) *config.Config {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(args, nil))
	return cfg
}

// TestFailedListenLeavesNothing lets Listen fail at each of its steps. What it had opened is closed: no
// goroutine is left, its ports are free, and its functions no longer follow the Config.
func TestFailedListenLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	require.NoError(t, free.Close())
	nowhere := filepath.Join(t.TempDir(), "gone", "file")
	for name, args := range map[string][]string{
		"users":       {"--port", port, "--aclfile", nowhere},
		"files":       {"--port", port, "--appendonly", "yes"}, // there is no disk
		"TLS":         {"--port", port, "--tls-port", "1", "--tls-cert-file", nowhere},
		"second port": {"--port", port, "--tls-port", strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)},
		"socket":      {"--port", port, "--unixsocket", nowhere},
		"no address":  {"--port", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, append(args, "--bind", "127.0.0.1", "--upstream", "redis://127.0.0.1:1")...)
			before := runtime.NumGoroutine()
			_, err := server.Listen(server.Options{Config: cfg})
			require.Error(t, err)
			ended := func() bool { return runtime.NumGoroutine() <= before }
			eventually(t, ended, runtime.Gosched, "goroutines are left")
			l, err := net.Listen("tcp", "127.0.0.1:"+port)
			require.NoError(t, err)
			require.NoError(t, l.Close())
			more := [][]byte{[]byte("maxclients"), []byte("4000000000")}
			require.NoError(t, cfg.Set(more), "nobody refuses it")
		})
	}
}

// TestFailedListenSparesEngine: the engine of Options is its owner's.
func TestFailedListenSparesEngine(t *testing.T) {
	cfg := configOf(t, "--port", "0")
	e := engine.New(engine.Options{Config: cfg, Clock: zlimit.SystemClock()})
	_, err := server.Listen(server.Options{Config: cfg, Engine: e})
	require.Error(t, err)
	require.NoError(t, cfg.Set([][]byte{[]byte("requirepass"), []byte("secret")}))
	require.True(t, e.NeedsPassword(), "it follows the Config")
	require.NoError(t, e.Close())
}
