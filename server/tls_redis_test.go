package server_test

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// A handshake is a server's directives, a client, and whether it is served.
type handshake struct {
	name     string
	args     []string
	client   *tls.Certificate // nil: none
	min, max uint16           // the client's versions; 0: crypto/tls' choice
	suites   []uint16         // the client's cipher suites up to TLSv1.2; nil: crypto/tls' choice
	served   bool
}

func handshakes(t *testing.T, c *certificates) []handshake {
	rsaCert, rsaKey := c.rsa(t)
	rsa := []string{"--tls-cert-file", rsaCert, "--tls-key-file", rsaKey}
	auth := func(word string) []string { return []string{"--tls-auth-clients", word} }
	gcm := []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
	chacha := []uint16{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}
	return []handshake{
		{name: "default, certificate", client: c.client, served: true},
		{name: "default, none"},
		{name: "default, none, TLSv1.2", max: tls.VersionTLS12},
		{name: "default, other authority", client: c.stranger},
		{name: "default, other authority, TLSv1.2", client: c.stranger, max: tls.VersionTLS12},
		{name: "default, expired", client: c.expired},
		{name: "yes, certificate", args: auth("yes"), client: c.client, served: true},
		{name: "yes, none", args: auth("yes")},
		{name: "optional, certificate", args: auth("optional"), client: c.client, served: true},
		{name: "optional, none", args: auth("optional"), served: true},
		{name: "optional, other authority", args: auth("optional"), client: c.stranger},
		{name: "optional, expired", args: auth("optional"), client: c.expired},
		{name: "no, certificate", args: auth("no"), client: c.client, served: true},
		{name: "no, none", args: auth("no"), served: true},
		{name: "no, other authority", args: auth("no"), client: c.stranger, served: true},
		{name: "no, expired", args: auth("no"), client: c.expired, served: true},

		{name: "RSA", args: rsa, client: c.client, served: true},
		{name: "RSA, TLSv1.2", args: rsa, client: c.client, max: tls.VersionTLS12, served: true},

		{name: "default, TLSv1.2", client: c.client, max: tls.VersionTLS12, served: true},
		{name: "default, TLSv1.3", client: c.client, min: tls.VersionTLS13, served: true},
		{name: "default, TLSv1.1", client: c.client, min: tls.VersionTLS10, max: tls.VersionTLS11},
		{
			name: "1.2 only, TLSv1.2", args: []string{"--tls-protocols", "TLSv1.2"},
			client: c.client, max: tls.VersionTLS12, served: true,
		},
		{
			name: "1.2 only, TLSv1.3", args: []string{"--tls-protocols", "TLSv1.2"},
			client: c.client, min: tls.VersionTLS13,
		},
		{
			name: "1.3 only, TLSv1.2", args: []string{"--tls-protocols", "TLSv1.3"},
			client: c.client, max: tls.VersionTLS12,
		},
		{
			name: "1.3 only, both", args: []string{"--tls-protocols", "tlsv1.3"},
			client: c.client, served: true,
		},
		{
			name: "1.2 and 1.3", args: []string{"--tls-protocols", "TLSv1.3 TLSv1.2"},
			client: c.client, max: tls.VersionTLS12, served: true,
		},

		{
			name: "cipher, the same", args: []string{"--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"},
			client: c.client, max: tls.VersionTLS12, suites: gcm, served: true,
		},
		{
			name: "cipher, another", args: []string{"--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"},
			client: c.client, max: tls.VersionTLS12, suites: chacha,
		},
		{
			name:   "cipher, another, in TLSv1.3",
			args:   []string{"--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"},
			client: c.client, suites: chacha, served: true,
		},
		{
			name: "two ciphers", client: c.client, max: tls.VersionTLS12, suites: chacha, served: true,
			args: []string{"--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"},
		},
		{
			name: "DEFAULT", args: []string{"--tls-ciphers", "DEFAULT:!MEDIUM:!aNULL"},
			client: c.client, max: tls.VersionTLS12, suites: chacha, served: true,
		},
		{
			name: "all suites of TLSv1.3",
			args: []string{
				"--tls-ciphersuites",
				"TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256",
			},
			client: c.client, served: true,
		},
		{
			name: "without session caching", args: []string{"--tls-session-caching", "no"},
			client: c.client, served: true,
		},
	}
}

// attempt makes the handshake with a server and reports whether PING was answered.
func (h handshake) attempt(c *certificates, addr string) bool {
	config := c.config(h.client)
	config.MinVersion, config.MaxVersion, config.CipherSuites = h.min, h.max, h.suites
	_, err := tryPing(addr, config)
	return err == nil
}

// TestHandshakes checks which clients are served, against the table and, if installed,
// redis-server.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	for _, h := range handshakes(t, c) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			srv := start(t, c.directives(h.args...)...)
			require.Equal(t, h.served, h.attempt(c, srv.TLSAddr().String()))
			if h.served {
				require.Equal(t, "0", infoValue(t, srv, "tls_handshakes_failed"))
			} else {
				awaitFailedHandshakes(t, srv, "1")
			}
		})
	}
}

// TestHandshakesOfRedis compares the table with redis-server.
func TestHandshakesOfRedis(t *testing.T) {
	t.Parallel()
	if err := oracle.FindRealTime(); err != nil {
		t.Skipf("the table is compared where redis-server is installed: %v", err)
	}
	c := newCertificates(t)
	for _, h := range handshakes(t, c) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			redis, addr := startRedisTLS(t, c.directives(h.args...))
			defer redis.Close()
			require.Equal(t, h.served, h.attempt(c, addr))
		})
	}
}

// startRedisTLS starts redis-server with the directives, whose tls-port it replaces.
func startRedisTLS(t *testing.T, args []string) (redis *oracle.Redis, addr string) {
	t.Helper()
	redis, err := oracle.Start(oracle.Options{RealTime: true, TLS: true, Args: args})
	require.NoError(t, err)
	return redis, redis.TLSAddr()
}
