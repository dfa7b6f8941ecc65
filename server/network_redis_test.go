package server_test

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/scenario"
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
type networkServer struct {
	certs                 *certificates
	addr, tlsAddr, socket string
	awaitHandshakes       func(failed string) // nil: it does not count them
}

// startNetworkServer starts a server with directives until the end of the test.
func startNetworkServer(t *testing.T, k kind, c *certificates, args []string) *networkServer {
	t.Helper()
	if k == ours {
		socket := filepath.Join(t.TempDir(), "s")
		srv := start(t, append(args, "--unixsocket", socket)...)
		return &networkServer{
			c, srv.Addr().String(), srv.TLSAddr().String(), socket,
			func(failed string) { awaitFailedHandshakes(t, srv, failed) },
		}
	}
	r, err := oracle.Start(oracle.Options{RealTime: true, TLS: true, Args: args})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	socket, err := r.Dial()
	require.NoError(t, err)
	defer socket.Close()
	return &networkServer{c, r.Addr(), r.TLSAddr(), socket.RemoteAddr().String(), nil}
}

// dial connects from where a name says. The test is skipped where the machine has no such address.
func (n *networkServer) dial(t *testing.T, name string) (net.Conn, error) {
	place, isTLS := strings.CutPrefix(name, "tls")
	to, from := n.addr, net.Dialer{}
	if isTLS {
		to = n.tlsAddr
	}
	_, port, err := net.SplitHostPort(to)
	require.NoError(t, err)
	to = net.JoinHostPort("127.0.0.1", port)
	switch place {
	case "socket":
		return net.Dial("unix", n.socket)
	case "host":
		if to = net.JoinHostPort(ownAddress(t), port); to == net.JoinHostPort("", port) {
			t.Skip("this machine has loopback addresses only")
		}
	case "alias":
		from.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}
		l, err := net.ListenTCP("tcp", from.LocalAddr.(*net.TCPAddr))
		if err != nil {
			t.Skipf("this machine has one loopback address only: %v", err)
		}
		require.NoError(t, l.Close())
	}
	if isTLS {
		return tls.DialWithDialer(&from, "tcp", to, n.certs.config(n.certs.client))
	}
	return from.Dial("tcp", to)
}

// handshake returns whether PING is answered over TLS to a client with a certificate, and, if that is among
// the words, with a version and a cipher suite.
func (n *networkServer) handshake(t *testing.T, words []string) string {
	client, ok := map[string]*tls.Certificate{
		"certificate": n.certs.client, "stranger": n.certs.stranger, "expired": n.certs.expired, "none": nil,
	}[words[0]]
	require.True(t, ok, words)
	config := n.certs.config(client)
	for _, word := range words[1:] {
		if v, ok := strings.CutPrefix(word, "TLSv1."); ok {
			minor, err := strconv.Atoi(v)
			require.NoError(t, err)
			config.MinVersion = tls.VersionTLS10 + uint16(minor)
			config.MaxVersion = config.MinVersion
			continue
		}
		suites := tls.CipherSuites()
		i := slices.IndexFunc(suites, func(s *tls.CipherSuite) bool { return s.Name == word })
		require.GreaterOrEqual(t, i, 0, word)
		config.CipherSuites = []uint16{suites[i].ID}
	}
	failed, result := "0", "served"
	if _, err := tryPing(n.tlsAddr, config); err != nil {
		failed, result = "1", "refused"
	}
	if n.awaitHandshakes != nil {
		n.awaitHandshakes(failed)
	}
	return result
}

// TestNetworkDirectives runs testdata/network, in the format of package scenario, on a server and, where it
// is installed, on redis-server. The name of a connection says from where it is: here (127.0.0.1), alias
// (127.0.0.2), host (the machine's own address) or socket, and tls... over TLS. Directives of the test's own:
//
//	@refused NAME                         such a connection is not accepted
//	@handshake CLIENT [VERSION] [SUITE]   over TLS a client is served or refused: with a certificate, with
//	                                      none, that of a stranger, or one that has expired
func TestNetworkDirectives(t *testing.T) {
	t.Parallel()
	files, err := scenario.Glob("testdata/network/*.cases", "refused", "handshake")
	require.NoError(t, err)
	var sections []scenario.Section
	for _, f := range files {
		sections = append(sections, f.Sections...)
	}
	c := newCertificates(t)
	rsaCert, rsaKey := c.rsa(t)
	pair := strings.NewReplacer("$RSACERT", rsaCert, "$RSAKEY", rsaKey)
	for _, k := range []kind{ours, redis} {
		t.Run(string(k), func(t *testing.T) {
			if err := oracle.FindRealTime(); k == redis && err != nil {
				t.Skipf("the files are compared where redis-server is installed: %v", err)
			}
			for _, s := range sections {
				t.Run(s.Title, func(t *testing.T) {
					t.Parallel()
					// A directive that is given again replaces the value.
					args := c.directives("--enable-debug-command", "no")
					for _, word := range s.Directives {
						args = append(args, pair.Replace(word))
					}
					n := startNetworkServer(t, k, c, args)
					r := scenario.Runner{Dial: func(name string) (scenario.Client, error) {
						nc, err := n.dial(t, name)
						if err != nil {
							return nil, err
						}
						return wireClient{newWire(nc)}, nil
					}}
					r.Own = map[string]func(string) ([]byte, error){
						"refused": func(name string) ([]byte, error) {
							_, err := n.dial(t, name)
							require.ErrorContains(t, err, "refused")
							return nil, nil
						},
						"handshake": func(text string) ([]byte, error) {
							return []byte("+" + n.handshake(t, strings.Fields(text)) + "\r\n"), nil
						},
					}
					for _, fault := range r.Run(s).Faults() {
						t.Error(fault)
					}
				})
			}
		})
	}
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
