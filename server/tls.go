package server

import (
	"crypto/tls"
	"errors"
	"time"

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
}

// loadTLS makes the configuration of new connections over TLS, if tls-port is not
// 0. If it fails, the one before stays. Connections keep what they have.
func (s *Server) loadTLS() error {
	s.tlsMu.Lock()
	defer s.tlsMu.Unlock()
	if s.cfg.Int("tls-port") == 0 {
		return nil
	}
	c, err := tlsconfig.New(tlsconfig.Options{
		CertFile: s.cfg.String("tls-cert-file"), KeyFile: s.cfg.String("tls-key-file"),
		KeyFilePass: s.cfg.String("tls-key-file-pass"),
		CACertFile:  s.cfg.String("tls-ca-cert-file"), CACertDir: s.cfg.String("tls-ca-cert-dir"),
		AuthClients: s.cfg.String("tls-auth-clients"), Protocols: s.cfg.String("tls-protocols"),
		Ciphers: s.cfg.String("tls-ciphers"), CipherSuites: s.cfg.String("tls-ciphersuites"),
		SessionCaching: s.cfg.Bool("tls-session-caching"),
		SessionTimeout: time.Duration(s.cfg.Int("tls-session-cache-timeout")) * time.Second,
	})
	if err != nil {
		return err
	}
	s.warnOfExpiry(c)
	s.tlsConfig.Store(c)
	return nil
}

// warnOfExpiry logs if clients will refuse the certificate. As with Redis that is no
// error: a restart must not depend on it.
func (s *Server) warnOfExpiry(c *tls.Config) {
	leaf, now := tlsconfig.Leaf(c), time.Now()
	switch {
	case now.After(leaf.NotAfter):
		s.log.Warn("the certificate has expired", "tls-cert-file", s.cfg.String("tls-cert-file"),
			"not-after", leaf.NotAfter)
	case now.Before(leaf.NotBefore):
		s.log.Warn("the certificate is not valid yet", "tls-cert-file", s.cfg.String("tls-cert-file"),
			"not-before", leaf.NotBefore)
	}
}

// ReloadTLS reads the files of the TLS directives again. If it returns an error,
// nothing has changed.
func (s *Server) ReloadTLS() error { return s.loadTLS() }

// followTLS makes CONFIG SET apply the directives of TLS.
func (s *Server) followTLS() {
	apply := func() error {
		if err := s.loadTLS(); err != nil {
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
