package server_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/testca"
)

// certificates has files for a server, and certificates for its clients.
type certificates struct {
	dir      string
	ca       *testca.Authority
	caFile   string
	otherCA  string // file of an authority that has signed nothing but stranger
	cert     string // of the server, as key
	key      string
	client   *tls.Certificate
	expired  *tls.Certificate
	stranger *tls.Certificate
}

func newCertificates(t *testing.T) *certificates {
	t.Helper()
	c := &certificates{dir: t.TempDir()}
	var err error
	c.ca, err = testca.New("ca")
	require.NoError(t, err)
	c.caFile, err = c.ca.Write(c.dir, "ca.crt")
	require.NoError(t, err)
	other, err := testca.New("other")
	require.NoError(t, err)
	c.otherCA, err = other.Write(c.dir, "other.crt")
	require.NoError(t, err)
	c.cert, c.key = c.issue(t, "server", testca.Leaf{Name: "server"})
	c.client = pairOf(t, c.ca, testca.Leaf{Name: "client"})
	c.expired = pairOf(t, c.ca, testca.Leaf{Name: "expired", NotAfter: time.Now().Add(-time.Hour)})
	c.stranger = pairOf(t, other, testca.Leaf{Name: "stranger"})
	return c
}

// issue writes a server's certificate to files.
func (c *certificates) issue(t *testing.T, name string, leaf testca.Leaf) (cert, key string) {
	t.Helper()
	pair, err := c.ca.Issue(leaf)
	require.NoError(t, err)
	cert, key, err = pair.Write(c.dir, name)
	require.NoError(t, err)
	return cert, key
}

// rsa writes a server's certificate with a key of RSA, which takes a hundred times as long to make as others.
func (c *certificates) rsa(t *testing.T) (cert, key string) {
	t.Helper()
	return c.issue(t, "rsa", testca.Leaf{Name: "rsa", RSA: true})
}

func pairOf(t *testing.T, ca *testca.Authority, leaf testca.Leaf) *tls.Certificate {
	t.Helper()
	pair, err := ca.Issue(leaf)
	require.NoError(t, err)
	out, err := pair.TLS()
	require.NoError(t, err)
	return &out
}

// directives are those of a server that listens for TLS.
func (c *certificates) directives(more ...string) []string {
	return append([]string{
		"--bind", "127.0.0.1", "--tls-port", "1", "--tls-cert-file", c.cert, "--tls-key-file", c.key,
		"--tls-ca-cert-file", c.caFile,
	}, more...)
}

// config returns the configuration of a client with a certificate, or without one if
// that is nil.
func (c *certificates) config(certificate *tls.Certificate) *tls.Config {
	config := &tls.Config{RootCAs: c.ca.Pool(), ServerName: "localhost"}
	if certificate != nil {
		// Also if the server does not list its authority.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return certificate, nil
		}
	}
	return config
}

// tryPing connects, sends PING and reads the reply. In TLSv1.3 a client learns only
// from that whether the server has accepted its certificate.
func tryPing(addr string, config *tls.Config) (tls.ConnectionState, error) {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: wireTimeout}, "tcp", addr, config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	err = errors.Join(c.SetDeadline(time.Now().Add(wireTimeout)), ping(c))
	return c.ConnectionState(), err
}

func ping(c io.ReadWriter) error {
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		return err
	}
	reply := make([]byte, len("+PONG\r\n"))
	if _, err := io.ReadFull(c, reply); err != nil {
		return err
	}
	if string(reply) != "+PONG\r\n" {
		return errors.New("not a PONG: " + string(reply))
	}
	return nil
}

// dialTLS connects with the client's certificate.
func (c *certificates) dialTLS(t *testing.T, addr string) *wire {
	t.Helper()
	nc, err := tls.DialWithDialer(&net.Dialer{Timeout: wireTimeout}, "tcp", addr, c.config(c.client))
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	return newWire(nc)
}

// startRedisTLS starts redis-server with the directives, whose tls-port it replaces.
func startRedisTLS(t *testing.T, args []string) (redis *oracle.Redis, addr string) {
	t.Helper()
	redis, err := oracle.Start(oracle.Options{RealTime: true, TLS: true, Args: args})
	require.NoError(t, err)
	return redis, redis.TLSAddr()
}
