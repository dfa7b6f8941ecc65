package main

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

// TestHangupReadsCertificates: SIGHUP reads the files again. If they are wrong, the
// server goes on with those before.
func TestHangupReadsCertificates(t *testing.T) {
	t.Parallel()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	dir := t.TempDir()
	issue := func(name string) (cert, key string) {
		pair, err := ca.Issue(testca.Leaf{Name: name})
		require.NoError(t, err)
		cert, key, err = pair.Write(dir, "server")
		require.NoError(t, err)
		return cert, key
	}
	cert, key := issue("first")
	portFile := filepath.Join(dir, "port")
	// A port of the kernel's choice: --tls-port takes none.
	args := []string{
		"--bind", "127.0.0.1", "--port", "0", "--port-file", portFile, "--tls-port", freePort(t),
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no",
	}
	p := start(t, args...)
	require.Contains(t, p.first, " --tls RL.ALLOW")
	name := func() string {
		c, err := tls.Dial("tcp", p.addr, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
		require.NoError(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	hangUp := func() string {
		p.signal(t, syscall.SIGHUP)
		line, err := p.stdout.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(line)
	}
	require.Equal(t, "first", name())
	issue("second")
	require.Contains(t, hangUp(), "hangup: read the certificates again")
	require.Equal(t, "second", name())
	pair, err := ca.Issue(testca.Leaf{Name: "third"})
	require.NoError(t, err)
	_, _, err = testca.Pair{Cert: []byte("no"), Key: pair.Key}.Write(dir, "server")
	require.NoError(t, err)
	require.Contains(t, hangUp(), `"hangup: the certificates stay as they are","error":"tls-cert-file `+cert+
		": no certificate in PEM")
	require.Equal(t, "second", name())
}

// TestHangupReadsCertificatesOfDoor: a door may be the only listener over TLS.
func TestHangupReadsCertificatesOfDoor(t *testing.T) {
	t.Parallel()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	pair, err := ca.Issue(testca.Leaf{Name: "localhost"})
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key, err := pair.Write(dir, "server")
	require.NoError(t, err)
	policies := filepath.Join(dir, "policies.yaml")
	require.NoError(t, os.WriteFile(policies, []byte("domain: d\n"), 0o600))
	p := start(t, "--bind", "127.0.0.1", "--port", "0", "--port-file", filepath.Join(dir, "port"),
		"--rl-policies", policies, "--rl-grpc-addr", "127.0.0.1:0", "--rl-door-tls", "yes",
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	next := func() string {
		line, err := p.stdout.ReadString('\n')
		require.NoError(t, err)
		return line
	}
	p.signal(t, syscall.SIGHUP)
	for !strings.Contains(next(), "hangup: read the policies again") {
	}
	p.signal(t, syscall.SIGHUP)
	require.Contains(t, next(), "hangup: read the certificates again")
}

// ports counts the ports that freePort has tried.
var ports atomic.Int64

// freePort returns a free port, below those that the system gives to servers of other tests.
func freePort(t *testing.T) string {
	t.Helper()
	var err error
	for range 1000 {
		port := strconv.FormatInt(20_000+(int64(os.Getpid())*100+ports.Add(1))%12_000, 10)
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	require.NoError(t, err)
	return ""
}
