package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/testca"
)

// infoValue returns a field of INFO stats.
func infoValue(t *testing.T, srv *server.Server, field string) string {
	t.Helper()
	reply, err := srv.Do(context.Background(), "INFO", "everything")
	require.NoError(t, err)
	return fieldOf(t, fmt.Sprint(reply), field)
}

// awaitFailedHandshakes waits until INFO says how many have failed: a client may notice that it
// is refused before the server has counted it.
func awaitFailedHandshakes(t *testing.T, srv *server.Server, want string) {
	t.Helper()
	eventually(t, func() bool { return infoValue(t, srv, "tls_handshakes_failed") == want }, runtime.Gosched)
}

func TestTLSPortOnly(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	host := ownHost(t)
	port, file := freePort(t, host), filepath.Join(c.dir, "port")
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(c.directives("--bind", host, "--port", "0", "--tls-port", port,
		"--port-file", file), nil))
	srv, err := server.Listen(server.Options{Config: cfg})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	require.Equal(t, port, strconv.Itoa(srv.Port()), "port-file opens no port beside tls-port")
	require.Contains(t, srv.Greeting(), " -p "+port+" --tls RL.ALLOW")
	require.Equal(t, port, infoValue(t, srv, "tcp_port"), "as in Redis")
	_, err = tryPing(srv.TLSAddr().String(), c.config(c.client))
	require.NoError(t, err)
	require.NoError(t, srv.Close())
	require.NoError(t, <-served)
}

// TestTLSReload replaces the files of the certificate while clients work.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	srv := start(t, c.directives()...)
	addr := srv.TLSAddr().String()
	name := func() string {
		state, err := tryPing(addr, c.config(c.client))
		require.NoError(t, err)
		return state.PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "server", name())
	old := c.dialTLS(t, addr)

	var stops []func()
	for range 4 {
		w := c.dialTLS(t, addr)
		stops = append(stops, meanwhile(t, func() error { return w.exchange("PING\r\n") }))
	}
	for i := range 5 {
		second := fmt.Sprintf("second-%d", i)
		c.issue(t, "server", testca.Leaf{Name: second})
		require.NotEqual(t, second, name(), "files are read when the server is told")
		require.Equal(t, "+OK", old.call(t, "CONFIG", "SET", "tls-cert-file", c.cert))
		require.Equal(t, second, name())
		third := fmt.Sprintf("third-%d", i)
		c.issue(t, "server", testca.Leaf{Name: third})
		require.NoError(t, srv.ReloadTLS())
		require.Equal(t, third, name())
	}
	for _, stop := range stops {
		stop()
	}
	require.NoError(t, os.WriteFile(c.key, []byte("half a fil"), 0o600))
	require.EqualError(t, srv.ReloadTLS(), "tls-key-file "+c.key+": no private key in PEM")
	require.Equal(t, "third-4", name())
	require.Equal(t, "+PONG", old.call(t, "PING"))
}

// TestTLSResumption: sessions are resumed within tls-session-cache-timeout, and not
// with another configuration.
func TestTLSResumption(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	srv := start(t, c.directives()...)
	config := c.config(c.client)
	config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	resumed := func() bool {
		state, err := tryPing(srv.TLSAddr().String(), config)
		require.NoError(t, err)
		return state.DidResume
	}
	require.False(t, resumed())
	require.True(t, resumed())
	require.NoError(t, srv.ReloadTLS())
	require.False(t, resumed(), "the authorities may be others")
	require.True(t, resumed())
	_, err := srv.Do(context.Background(), "CONFIG", "SET", "tls-session-caching", "no")
	require.NoError(t, err)
	require.False(t, resumed())
	require.False(t, resumed())
}

// TestTLSHangingHandshake: clients that send nothing, or half of a hello, are closed when the time for a
// handshake is over.
func TestTLSHangingHandshake(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	const hanging = 50
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(c.directives(), nil))
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true})
	require.NoError(t, err)
	srv.SetHandshakeTimeout(time.Millisecond)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	for i := range hanging {
		nc, err := net.Dial("tcp", srv.TLSAddr().String())
		require.NoError(t, err)
		defer nc.Close()
		if i%2 == 0 {
			_, _ = nc.Write([]byte{22, 3, 1, 2, 0, 1, 0}) // fails if the server has closed it already
		}
		require.NoError(t, nc.SetDeadline(time.Now().Add(wireTimeout)))
		_, err = io.Copy(io.Discard, nc)
		if i%2 == 0 && errors.Is(err, syscall.ECONNRESET) {
			err = nil // what it sent came too late
		}
		require.NoError(t, err)
	}
	awaitFailedHandshakes(t, srv, strconv.Itoa(hanging))
	require.NoError(t, srv.Close())
	require.NoError(t, <-served)
}

// TestTLSTransport sends and receives values and pipelines of many sizes, in pieces
// of every size, to a reader that is slow.
func TestTLSTransport(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			srv := start(t, c.directives()...)
			config := c.config(c.client)
			config.MinVersion, config.MaxVersion = version, version
			dialer := &net.Dialer{Timeout: wireTimeout}
			nc, err := tls.DialWithDialer(dialer, "tcp", srv.TLSAddr().String(), config)
			require.NoError(t, err)
			defer nc.Close()
			require.NoError(t, nc.SetDeadline(time.Now().Add(wireTimeout)))
			var sent, want bytes.Buffer
			for _, size := range []int{
				0, 1, 100, 16383, 16384, 16385, 32768, 65535, 65536, 65537, 1 << 20, 5<<20 + 3,
			} {
				value := strings.Repeat("v", size)
				fmt.Fprintf(&sent, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", size, value)
				fmt.Fprintf(&sent, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
				fmt.Fprintf(&want, "+OK\r\n$%d\r\n%s\r\n", size, value)
			}
			for range 20000 {
				sent.WriteString("*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n")
				want.WriteString("$5\r\nhello\r\n")
			}
			written := make(chan error, 1)
			go func() {
				_, err := io.Copy(nc, &sent)
				written <- err
			}()
			require.NoError(t, <-written, "the server reads on while its replies are unread")
			got := make([]byte, want.Len())
			_, err = io.ReadFull(iotest.HalfReader(nc), got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want.Bytes(), got))
			require.NoError(t, ping(nc))
		})
	}
}

// TestTLSCloseNotify checks that the server ends a connection with close_notify, so that
// a client can tell a complete reply from a cut one.
func TestTLSCloseNotify(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	srv := start(t, c.directives()...)
	raw, err := net.Dial("tcp", srv.TLSAddr().String())
	require.NoError(t, err)
	defer raw.Close()
	config := c.config(c.client)
	config.MaxVersion = tls.VersionTLS12 // its records say in clear what they are
	seen := &recorder{Conn: raw}
	nc := tls.Client(seen, config)
	require.NoError(t, nc.SetDeadline(time.Now().Add(wireTimeout)))
	_, err = io.WriteString(nc, "QUIT\r\n")
	require.NoError(t, err)
	reply, err := io.ReadAll(nc)
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", string(reply))
	const alert = 21
	var last byte
	for rest := seen.read.Bytes(); len(rest) > 0; rest = rest[5+int(rest[3])<<8+int(rest[4]):] {
		last = rest[0]
	}
	require.Equal(t, byte(alert), last)
}

// A recorder keeps what is read.
type recorder struct {
	net.Conn
	read bytes.Buffer
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.read.Write(b[:n])
	return n, err
}

// TestTLSOutputLimit: a client that reads nothing is cut by client-output-buffer-limit,
// and does not delay shutdown.
func TestTLSOutputLimit(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	srv := start(t, c.directives("--client-output-buffer-limit", "normal 1mb 0 0")...)
	w := c.dialTLS(t, srv.TLSAddr().String())
	require.Equal(t, "+OK", w.call(t, "SET", "k", strings.Repeat("v", 100<<10)))
	require.NoError(t, w.sendRaw(bytes.Repeat([]byte("GET k\r\n"), 1000)))
	stuck := c.dialTLS(t, srv.TLSAddr().String())
	me := "addr=" + w.conn.LocalAddr().String() + " "
	for deadline := time.Now().Add(wireTimeout); strings.Contains(stuck.call(t, "CLIENT", "LIST"), me); {
		require.False(t, time.Now().After(deadline), "it stays connected")
	}
	_, err := io.Copy(io.Discard, w.r)
	if *fed {
		return // a goroutine writes whole records, after which an end without close_notify is no error
	}
	require.Error(t, err, "no close_notify")
	require.NoError(t, stuck.sendRaw([]byte("GET k\r\n")))
	require.NoError(t, srv.Close())
}
