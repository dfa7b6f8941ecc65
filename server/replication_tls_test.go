package server_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// links returns the directives of a server that takes connections over TLS and follows its master so. Its
// clients need a certificate.
func (c *certificates) links(more ...string) []string {
	return append([]string{
		"--tls-cert-file", c.cert, "--tls-key-file", c.key, "--tls-ca-cert-file", c.caFile,
		"--tls-replication", "yes",
	}, more...)
}

// listenTLS makes a node listen for TLS, and returns the port.
func (n *node) listenTLS(t *testing.T) (port string) {
	t.Helper()
	reply := ""
	for range 10 { // the port may be in use again
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		require.NoError(t, l.Close())
		if reply = n.do(t, "CONFIG SET tls-port "+port); reply == "+OK" {
			return port
		}
	}
	require.Fail(t, "no free port", reply)
	return ""
}

// TestSilentHandshakeIsLeft: a master that accepts connections and says nothing is left after repl-timeout,
// and at once when the server becomes a master.
func TestSilentHandshakeIsLeft(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	f := newFabric(t)
	replica := f.node(ours, c.links()...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	accepted := make(chan net.Conn)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- nc
		}
	}()
	next := func() (nc net.Conn) {
		f.until(func() bool {
			select {
			case nc = <-accepted:
				return true
			default:
				replica.jump(t, time.Millisecond)
				return false
			}
		})
		require.NoError(t, nc.SetDeadline(time.Now().Add(wireTimeout)))
		return nc
	}
	require.Equal(t, "+OK", replica.do(t, "REPLICAOF 127.0.0.1 "+port))
	first := next()
	begin := make([]byte, 3)
	_, err = io.ReadFull(first, begin) // it has begun the handshake
	require.NoError(t, err)
	require.Equal(t, []byte{22, 3, 1}, begin, "not a ClientHello")
	replica.jump(t, 61*time.Second)
	f.until(func() bool { return strings.Contains(replica.field(t, "master_link_error"), "repl-timeout") })
	_, err = io.ReadAll(first)
	require.NoError(t, err)
	second := next()
	require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
	_, err = io.ReadAll(second)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
}
