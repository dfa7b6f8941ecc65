package server_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
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

// followTLS makes a node a replica of a TLS port, and waits until it has everything.
func (f *fabric) followTLS(replica, master *node, port string) {
	f.t.Helper()
	require.Equal(f.t, "+OK", replica.do(f.t, "REPLICAOF 127.0.0.1 "+port))
	f.caughtUp(replica, master)
}

// announced waits until a master has one replica, and returns its port there.
func (f *fabric) announced(master *node) (port string) {
	f.t.Helper()
	f.until(func() bool { return strings.Contains(master.field(f.t, "slave0"), "state=online") })
	_, port, _ = strings.Cut(master.field(f.t, "slave0"), "port=")
	port, _, _ = strings.Cut(port, ",")
	return port
}

// TestReplicationOverTLS: whichever kind the master and the replica are, both hold the same over a link by
// TLS whose master needs a certificate, before and after the link is cut, and with the roles changed.
func TestReplicationOverTLS(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	clientCert, clientKey := c.issue(t, "replica", testca.Leaf{Name: "replica"})
	for _, kinds := range [][2]kind{{ours, ours}, {ours, redis}, {redis, ours}, {redis, redis}} {
		t.Run(string(kinds[1])+" follows "+string(kinds[0]), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			first := f.node(kinds[0], c.links()...)
			second := f.node(kinds[1], c.links("--tls-client-cert-file", clientCert,
				"--tls-client-key-file", clientKey)...)
			firstPort := first.listenTLS(t)
			second.fill(t, "SET replica's v")
			first.fill(t, pairingKeys("a:")...)
			first.fill(t, "SET big "+strings.Repeat("x", 1<<20))
			f.followTLS(second, first, firstPort)
			_, plain := second.hostPort()
			require.Equal(t, plain, f.announced(first), "the replica has no tls-port")
			f.requireSame(second, first, "the copy")

			secondPort := second.listenTLS(t)
			require.Equal(t, ":1", first.do(t, "CLIENT KILL TYPE replica"))
			first.fill(t, pairingKeys("b:")...)
			f.requireSame(second, first, "after a cut")
			full, partial := first.counts(t)
			require.Equal(t, "1 1", full+" "+partial)
			require.Equal(t, secondPort, f.announced(first))

			require.Equal(t, "+OK", second.do(t, "REPLICAOF NO ONE"))
			second.fill(t, "SET promoted v")
			f.followTLS(first, second, secondPort)
			f.requireSame(first, second, "with the roles changed")
			require.Equal(t, firstPort, f.announced(second))
		})
	}
}

// TestReplicationTLSFails: a link by TLS that is refused says why, leaves the replica's keys, and comes
// about as soon as what is wrong is put right.
func TestReplicationTLSFails(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	other, err := testca.New("others")
	require.NoError(t, err)
	others := &certificates{dir: t.TempDir(), ca: other}
	strangerCert, strangerKey := others.issue(t, "stranger", testca.Leaf{Name: "stranger"})
	expiredCert, expiredKey := c.issue(t, "late", testca.Leaf{
		Name: "late", NotAfter: time.Now().Add(-time.Hour),
	})
	stranger := []string{"--tls-client-cert-file", strangerCert, "--tls-client-key-file", strangerKey}
	const repairClient = `CONFIG SET tls-client-cert-file ""`
	for _, row := range []struct {
		name            string
		master, replica []string
		plain           bool // the replica is sent to the master's plain port
		why             string
		repair          string // a command for the replica
	}{
		{
			name: "wrong authority", replica: []string{"--tls-ca-cert-file", c.otherCA},
			why:    `^TLS with the master: .*x509: certificate signed by unknown authority`,
			repair: "CONFIG SET tls-ca-cert-file " + c.caFile,
		},
		{
			name: "certificate of another authority", replica: stranger, repair: repairClient,
			why: "remote error: tls: unknown certificate authority|remote error: tls: bad certificate",
		},
		{
			name: "certificate of another authority, TLSv1.2", master: []string{"--tls-protocols", "TLSv1.2"},
			replica: stranger, repair: repairClient,
			why: "remote error: tls: unknown certificate authority|remote error: tls: bad certificate",
		},
		{
			name:    "expired certificate",
			replica: []string{"--tls-client-cert-file", expiredCert, "--tls-client-key-file", expiredKey},
			why:     "remote error: tls: expired certificate|remote error: tls: bad certificate",
			repair:  repairClient,
		},
		{
			name: "expired certificate of the master", why: `^TLS with the master: .*has expired`,
			master: []string{"--tls-cert-file", expiredCert, "--tls-key-file", expiredKey},
		},
		{
			name: "no version in common", master: []string{"--tls-protocols", "TLSv1.2"},
			replica: []string{"--tls-protocols", "TLSv1.3"}, why: "^TLS with the master: .*protocol version",
			repair: `CONFIG SET tls-protocols ""`,
		},
		{
			name: "plain to the TLS port", replica: []string{"--tls-replication", "no"},
			why: "EOF|reset|replied", repair: "CONFIG SET tls-replication yes",
		},
		{
			name: "TLS to the plain port", plain: true, repair: "CONFIG SET tls-replication no",
			// The master may take the message for a line that has not ended yet.
			why: "first record does not look like a TLS handshake|nothing has arrived for repl-timeout|" +
				"EOF|reset",
		},
	} {
		for _, k := range []kind{ours, redis} {
			t.Run(row.name+", "+string(k), func(t *testing.T) {
				t.Parallel()
				f := newFabric(t)
				master := f.node(k, c.links(row.master...)...)
				replica := f.node(ours, c.links(row.replica...)...)
				port := master.listenTLS(t)
				if row.plain {
					_, port = master.hostPort()
				}
				master.fill(t, "SET k master")
				replica.fill(t, "SET mine v")
				require.Equal(t, "+OK", replica.do(t, "REPLICAOF 127.0.0.1 "+port))
				f.until(func() bool {
					if row.plain {
						replica.jump(t, 100*time.Millisecond) // sooner to repl-timeout
					}
					return replica.field(t, "master_link_error") != ""
				})
				require.Regexp(t, row.why, replica.field(t, "master_link_error"))
				require.Equal(t, "down", replica.field(t, "master_link_status"))
				require.Equal(t, "$1\r\nv", replica.do(t, "GET mine"))
				if row.repair == "" {
					return
				}
				require.Equal(t, "+OK", replica.do(t, row.repair))
				f.until(func() bool {
					replica.jump(t, 100*time.Millisecond)
					return replica.field(t, "master_link_status") == "up"
				})
				f.requireSame(replica, master)
			})
		}
	}
}

// TestTLSReplicationIsSwitched: CONFIG SET tls-replication without certificates is refused as by
// redis-server, and in one command with them accepted; a link that is up stays as it is, and the next one is
// by TLS.
func TestTLSReplicationIsSwitched(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k, c.links()...), f.node(k)
		refused := func(directive, args string) {
			require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument '"+directive+
				"') - Unable to update TLS configuration. Check server logs.",
				replica.do(t, "CONFIG SET "+args))
		}
		refused("tls-replication", "tls-replication yes")
		refused("tls-replication", "tls-replication yes tls-cert-file "+c.cert)
		files := " tls-cert-file " + c.cert + " tls-key-file " + c.key
		refused("tls-replication", "tls-replication yes tls-auth-clients no"+files)
		refused("tls-replication", "tls-replication yes tls-ca-cert-file /none"+files)
		require.Equal(t, "*2\r\n$15\r\ntls-replication\r\n$2\r\nno",
			replica.do(t, "CONFIG GET tls-replication"))
		f.follow(replica, master)
		require.Equal(t, "+OK",
			replica.do(t, "CONFIG SET tls-replication yes tls-ca-cert-file "+c.caFile+files))
		refused("tls-ca-cert-file", `tls-ca-cert-file ""`)
		// Of one directive alone nothing is read.
		require.Equal(t, "+OK", replica.do(t, "CONFIG SET tls-client-cert-file /none"))
		refused("tls-client-key-file", "tls-client-key-file /none")
		master.fill(t, "SET k 1")
		f.requireSame(replica, master)

		require.Equal(t, ":1", master.do(t, "CLIENT KILL TYPE replica"))
		f.until(func() bool { return replica.field(t, "master_link_status") == "down" })
		port := master.listenTLS(t)
		f.followTLS(replica, master, port)
		master.fill(t, "SET k 2")
		f.requireSame(replica, master)
		require.Equal(t, "+OK", replica.do(t, "CONFIG SET tls-replication no"))
		master.fill(t, "SET k 3")
		f.requireSame(replica, master)
	})
}

// TestTLSReplicationNeedsFiles: a server with tls-replication does not start without what it needs, even
// if it has no tls-port.
func TestTLSReplicationNeedsFiles(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	files := []string{"--tls-cert-file", c.cert, "--tls-key-file", c.key}
	for _, row := range []struct {
		args []string
		want string
	}{
		{nil, "tls-replication needs tls-cert-file"},
		{files[:2], "tls-replication needs tls-key-file"},
		{files, "tls-replication needs tls-ca-cert-file or tls-ca-cert-dir"},
		{
			append(files, "--tls-auth-clients", "no"),
			"tls-replication needs tls-ca-cert-file or tls-ca-cert-dir",
		},
		{
			append(files, "--tls-ca-cert-file", c.caFile, "--tls-client-cert-file", c.caFile,
				"--tls-client-key-file", c.key),
			"tls-client-key-file " + c.key + ": not a private key of the certificate in " +
				"tls-client-cert-file " + c.caFile + ": private key does not match public key",
		},
	} {
		args := append([]string{"--bind", "127.0.0.1", "--tls-replication", "yes"}, row.args...)
		require.EqualError(t, refused(t, args...), row.want)
	}
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
