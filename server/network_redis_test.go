package server_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// A networkCase is a server's directives, a client, and how the first replies begin.
type networkCase struct {
	args   string
	from   string // "here" (127.0.0.1), "alias" (127.0.0.2), "host" (the machine's own address), "socket"
	send   string // lines, cut at |
	want   string // how the last reply begins, or with ! not; "refused" if there is no connection
	tlsToo bool   // also over TLS
}

// networkCases are what protected-mode, bind, enable-debug-command and
// enable-protected-configs admit.
var networkCases = []networkCase{
	{"--bind *", "here", "PING", "+PONG", true},
	{"--bind *", "alias", "PING", denied, true},
	{"--bind *", "host", "PING", denied, true},
	{"--bind *", "socket", "PING", "+PONG", false},
	{"--bind * --protected-mode no", "host", "PING", "+PONG", true},
	{"--bind * --requirepass x", "host", "PING", "-NOAUTH ", true},
	{"--bind * --requirepass x", "host", "AUTH x|PING", "+PONG", true},
	{"--bind * --requirepass x", "host", "AUTH y|PING", "-NOAUTH ", false},
	{"--bind *", "here", "CONFIG SET protected-mode no|CONFIG GET protected-mode", "*2\r\n", false},

	{"--bind 127.0.0.1", "host", "PING", "refused", true},
	{"--bind 127.0.0.1 -192.0.2.77", "here", "PING", "+PONG", true},
	{"--bind -192.0.2.77 *", "here", "PING", "+PONG", false},
	{"--bind * -::*", "here", "PING", "+PONG", true},

	{"--enable-debug-command no", "here", debugCall, debugOff, true},
	{"--enable-debug-command no", "socket", debugCall, debugOff, false},
	{"--enable-debug-command local", "here", debugCall, "!" + debugOff, true},
	{"--enable-debug-command local", "socket", debugCall, "!" + debugOff, false},
	{
		"--enable-debug-command local --bind * --protected-mode no", "host", debugCall,
		debugOff, true,
	},
	{"--enable-debug-command local --protected-mode no", "alias", debugCall, debugOff, true},
	{"--enable-debug-command yes --bind * --protected-mode no", "host", debugCall, "!" + debugOff, true},
	{"--enable-debug-command no", "here", "CONFIG SET enable-debug-command yes", cannotSet, false},

	{"", "here", setDir, cannotSetDir, true},
	{"", "socket", setDir, cannotSetDir, false},
	{"", "here", "CONFIG SET dbfilename x.rdb", cannotSet, false},
	{"--enable-protected-configs local", "here", setDir, "+OK", true},
	{"--enable-protected-configs local", "socket", setDir, "+OK", false},
	{"--enable-protected-configs local --bind * --protected-mode no", "host", setDir, cannotSetDir, true},
	{"--enable-protected-configs local --protected-mode no", "alias", setDir, cannotSetDir, true},
	{"--enable-protected-configs yes --bind * --protected-mode no", "host", setDir, "+OK", true},
	{"", "here", "CONFIG SET enable-protected-configs yes", cannotSet, false},
}

const (
	denied       = "-DENIED "
	debugCall    = "DEBUG CLOCK RESUME" // of zlimit; Redis answers that it is unknown, if it is allowed
	debugOff     = "-ERR DEBUG command not allowed."
	setDir       = "CONFIG SET dir ."
	cannotSet    = "-ERR CONFIG SET failed"
	cannotSetDir = "-ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config"
)

// ownAddress returns an address of this machine that is not a loopback one, or "".
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

// A networkServer is a server of either kind.
type networkServer struct{ port, tlsPort, socket string }

// TestNetworkDirectives compares with the table and, where it is installed, with
// redis-server whom the directives admit.
func TestNetworkDirectives(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	ours := func(t *testing.T, args []string) networkServer {
		socket := filepath.Join(t.TempDir(), "s")
		srv := start(t, append(args, "--unixsocket", socket)...)
		_, port, err := net.SplitHostPort(srv.Addr().String())
		require.NoError(t, err)
		_, tlsPort, err := net.SplitHostPort(srv.TLSAddr().String())
		require.NoError(t, err)
		return networkServer{port, tlsPort, socket}
	}
	t.Run("zlimit", func(t *testing.T) { runNetworkCases(t, c, ours) })
	redis := func(t *testing.T, args []string) networkServer {
		r, tlsAddr := startRedisTLS(t, args)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		_, port, err := net.SplitHostPort(r.Addr())
		require.NoError(t, err)
		_, tlsPort, err := net.SplitHostPort(tlsAddr)
		require.NoError(t, err)
		socket, err := r.Dial()
		require.NoError(t, err)
		defer socket.Close()
		return networkServer{port, tlsPort, socket.RemoteAddr().String()}
	}
	t.Run("redis", func(t *testing.T) {
		if err := oracle.FindRealTime(); err != nil {
			t.Skipf("the table is compared where redis-server is installed: %v", err)
		}
		runNetworkCases(t, c, redis)
	})
}

func runNetworkCases(
	t *testing.T, c *certificates, startServer func(t *testing.T, args []string) networkServer,
) {
	for _, row := range networkCases {
		t.Run(row.args+", "+row.from+", "+row.send, func(t *testing.T) {
			t.Parallel()
			host := map[string]string{
				"here": "127.0.0.1", "alias": "127.0.0.1", "host": ownAddress(t), "socket": "unix",
			}[row.from]
			if host == "" {
				t.Skip("this machine has loopback addresses only")
			}
			var from net.Dialer
			if row.from == "alias" {
				from.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}
				l, err := net.ListenTCP("tcp", from.LocalAddr.(*net.TCPAddr))
				if err != nil {
					t.Skipf("this machine has one loopback address only: %v", err)
				}
				require.NoError(t, l.Close())
			}
			// A directive that is given again replaces the value.
			args := append(c.directives("--enable-debug-command", "no"), strings.Fields(row.args)...)
			srv := startServer(t, args)
			plain := func() (net.Conn, error) { return from.Dial("tcp", net.JoinHostPort(host, srv.port)) }
			if row.from == "socket" {
				plain = func() (net.Conn, error) { return net.Dial("unix", srv.socket) }
			}
			row.check(t, plain)
			if row.tlsToo {
				row.check(t, func() (net.Conn, error) {
					address := net.JoinHostPort(host, srv.tlsPort)
					return tls.DialWithDialer(&from, "tcp", address, c.config(c.client))
				})
			}
		})
	}
}

// check connects, sends the lines and looks at the last reply.
func (row networkCase) check(t *testing.T, dial func() (net.Conn, error)) {
	t.Helper()
	nc, err := dial()
	if row.want == "refused" {
		require.ErrorContains(t, err, "refused")
		return
	}
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.SetDeadline(time.Now().Add(wireTimeout)))
	w := newWire(nc)
	var reply []byte
	for line := range strings.SplitSeq(row.send, "|") {
		// The connection of a client that is denied may have ended before.
		if _, err := io.WriteString(nc, line+"\r\n"); row.want != denied {
			require.NoError(t, err)
		}
		reply, err = w.readReply()
		require.NoError(t, err, "%s: %q", line, reply)
	}
	prefix, unwanted := strings.CutPrefix(row.want, "!")
	require.Equal(t, !unwanted, strings.HasPrefix(string(reply), prefix), "%q", reply)
}

// TestUnixSocketPermissions compares the permissions with redis-server's.
func TestUnixSocketPermissions(t *testing.T) {
	t.Parallel()
	if err := oracle.FindRealTime(); err != nil {
		t.Skipf("no redis-server installed to compare with: %v", err)
	}
	for _, args := range [][]string{
		nil,
		{"--unixsocketperm", "0"},
		{"--unixsocketperm", "600"},
		{"--unixsocketperm", "0777"},
		{"--unixsocketperm", "1"},
	} {
		socket := filepath.Join(t.TempDir(), "s")
		start(t, append([]string{"--bind", "127.0.0.1", "--unixsocket", socket}, args...)...)
		ours, err := os.Stat(socket)
		require.NoError(t, err)
		redis, err := oracle.Start(oracle.Options{RealTime: true, Args: args})
		require.NoError(t, err)
		nc, err := redis.Dial()
		if err == nil {
			var theirs os.FileInfo
			theirs, err = os.Stat(nc.RemoteAddr().String())
			require.NoError(t, err)
			require.Equal(t, theirs.Mode(), ours.Mode(), args)
			require.NoError(t, nc.Close())
		}
		require.NoError(t, err)
		require.NoError(t, redis.Close())
	}
}
