package server

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server/tlsconfig"
)

// errTLS is Redis' text for directives of TLS that cannot be applied.
//
//nolint:revive,staticcheck // Redis' text
var errTLS = errors.New("Unable to update TLS configuration. Check server logs.")

// tlsDirectives are the directives of which a configuration of TLS is made. Each
// makes the files be read again.
var tlsDirectives = []string{
	"tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir",
	"tls-auth-clients", "tls-protocols", "tls-ciphers", "tls-ciphersuites", "tls-session-caching",
	"tls-session-cache-timeout",
	"tls-client-cert-file", "tls-client-key-file", "tls-client-key-file-pass", "tls-replication",
}

// tlsConfigs are the configurations of new connections over TLS.
type tlsConfigs struct {
	timeout time.Duration // of handshakes
	mu      sync.Mutex    // held while the others are made

	server atomic.Pointer[tls.Config] // nil: none was needed yet
	client atomic.Pointer[tls.Config] // of connections to a master; nil: none was needed yet
}

// load makes the configurations of new connections, if tls-port, tls-replication or rl-door-tls asks
// for it. If it fails, those before stay. Connections keep what they have.
func (t *tlsConfigs) load(c *config.Config, log *slog.Logger) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	server, client, err := newTLS(c)
	if err != nil || server == nil {
		return err
	}
	warnOfExpiry(server, c.String("tls-cert-file"), log)
	t.server.Store(server)
	t.client.Store(client)
	return nil
}

// newTLS reads the files of the directives. All results are nil if no directive asks for TLS.
func newTLS(c *config.Config) (server, client *tls.Config, err error) {
	replication := c.Bool("tls-replication")
	if c.Int("tls-port") == 0 && !replication && !c.Bool("rl-door-tls") {
		return nil, nil, nil
	}
	o := tlsconfig.Options{
		CertFile: c.String("tls-cert-file"), KeyFile: c.String("tls-key-file"),
		KeyFilePass:    c.String("tls-key-file-pass"),
		ClientCertFile: c.String("tls-client-cert-file"), ClientKeyFile: c.String("tls-client-key-file"),
		ClientKeyFilePass: c.String("tls-client-key-file-pass"),
		Replication:       replication,
		CACertFile:        c.String("tls-ca-cert-file"), CACertDir: c.String("tls-ca-cert-dir"),
		AuthClients: c.String("tls-auth-clients"), Protocols: c.String("tls-protocols"),
		Ciphers: c.String("tls-ciphers"), CipherSuites: c.String("tls-ciphersuites"),
		SessionCaching: c.Bool("tls-session-caching"),
		SessionTimeout: time.Duration(c.Int("tls-session-cache-timeout")) * time.Second,
	}
	if server, err = tlsconfig.New(o); err != nil {
		return nil, nil, err
	}
	if client, err = tlsconfig.NewClient(o, server); err != nil {
		return nil, nil, err
	}
	return server, client, nil
}

// warnOfExpiry logs if clients will refuse the certificate. As with Redis that is no
// error: a restart must not depend on it.
func warnOfExpiry(c *tls.Config, file string, log *slog.Logger) {
	leaf, now := tlsconfig.Leaf(c), time.Now()
	switch {
	case now.After(leaf.NotAfter):
		log.Warn("the certificate has expired", "tls-cert-file", file, "not-after", leaf.NotAfter)
	case now.Before(leaf.NotBefore):
		log.Warn("the certificate is not valid yet", "tls-cert-file", file, "not-before", leaf.NotBefore)
	}
}

// ReloadTLS reads the files of the TLS directives again. If it returns an error,
// nothing has changed.
func (s *Server) ReloadTLS() error { return s.tls.load(s.cfg.Config, s.log) }

// HasTLS reports whether a directive asks for TLS: of clients, of replicas or of a door.
func (s *Server) HasTLS() bool { return s.tls.server.Load() != nil }

// followTLS makes CONFIG SET apply the directives of TLS.
func (s *Server) followTLS() {
	apply := func() error {
		if err := s.ReloadTLS(); err != nil {
			s.log.Warn("the directives of TLS are not applied", "error", err)
			return errTLS
		}
		return nil
	}
	for _, name := range tlsDirectives {
		s.cfg.OnTry(name, apply)
	}
	s.cfg.OnTry("tls-port", func() error {
		if err := apply(); err != nil {
			return err
		}
		return s.rebind(errPort)
	})
}
