//go:build linux || darwin

package main

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// startLimited is start with a limit of open files.
func startLimited(t *testing.T, files string, args ...string) *process {
	t.Helper()
	p := prepare(t, args...)
	p.cmd.Args = append([]string{"sh", "-c", "ulimit -n " + files + `; exec "$0" "$@"`, p.cmd.Path}, args...)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	p.cmd.Path = sh
	p.run(t)
	return p
}

// TestReservedDescriptors fills a server that may open 260 files with clients.
// Those beyond 224 are refused, and the log, saves and rewrites continue.
func TestReservedDescriptors(t *testing.T) {
	t.Parallel()
	args, _ := anyPort(t)
	p := startLimited(t, "260", append(args, "--io-loops", "2", "--save", "3600 1", "--appendonly", "yes",
		"--metrics-addr", "127.0.0.1:0")...)
	warning, err := p.stdout.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, warning,
		"maxclients is 224 instead of 10000: the limit of open files (ulimit -n) is 260, and 36 are kept")
	p.readGreeting(t, p.stdout)
	metrics, err := p.stdout.ReadString('\n')
	require.NoError(t, err)
	_, address, ok := strings.Cut(strings.TrimSpace(metrics), "http://")
	require.True(t, ok, metrics)
	address, _, _ = strings.Cut(address, "/")

	c := p.dial(t)
	require.Equal(t, "+OK", c.ask(t, "SET k v"))
	var idle []net.Conn
	for range 300 {
		o, err := net.Dial("tcp", p.addr)
		require.NoError(t, err)
		defer o.Close()
		idle = append(idle, o)
		m, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer m.Close()
	}
	refused, err := bufio.NewReader(idle[299]).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "-ERR max number of clients reached\r\n", refused)
	require.Equal(t, "+OK", c.ask(t, "SAVE"))
	require.Equal(t, "+OK", c.ask(t, "SET k w"))
	require.Equal(t, "+Background append only file rewriting started", c.ask(t, "BGREWRITEAOF"))
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - "+
		"The operating system is not able to handle the specified number of clients, try with 224",
		c.ask(t, "CONFIG SET maxclients 225"))
	require.Equal(t, "+OK", c.ask(t, "CONFIG SET maxclients 223"))
	c.send(t, "SHUTDOWN\r\n")
	code, _ := p.wait(t)
	require.Zero(t, code, "the final save succeeds")
}

// TestTooFewDescriptors sets a limit too low to serve any client.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	args, _ := anyPort(t)
	p := startLimited(t, "36", append(args, "--io-loops", "2")...)
	code, _ := p.wait(t)
	require.Equal(t, 1, code)
	require.Equal(t, "zlimit-server: the limit of open files (ulimit -n) is 36, and at least 37 are needed\n",
		p.stderr.String())
}
