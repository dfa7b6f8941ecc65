// Package tlsconfig makes configurations of crypto/tls from Redis' TLS directives.
// What crypto/tls cannot do as asked is an error that names the directive and the
// word or file; nothing is silently weaker or stronger. It opens no connections.
//
// This package is internal to zlimit: it may change in any release.
package tlsconfig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Options has the values of the directives named like its fields.
type Options struct {
	CertFile, KeyFile, KeyFilePass   string
	ClientCertFile, ClientKeyFile    string // if one is empty, CertFile and KeyFile are used
	ClientKeyFilePass                string
	Replication                      bool
	CACertFile, CACertDir            string
	AuthClients                      string // yes, no, or optional
	Protocols, Ciphers, CipherSuites string
	SessionCaching                   bool
	SessionTimeout                   time.Duration    // 0: crypto/tls's limit, a week
	Now                              func() time.Time // nil: time.Now
}

// New reads the files and returns the configuration of a server. Errors are one
// line.
func New(o Options) (*tls.Config, error) {
	wanting := "tls-port"
	if o.Replication {
		wanting = "tls-replication"
	}
	noAuthorities := o.CACertFile == "" && o.CACertDir == ""
	switch {
	case o.CertFile == "":
		return nil, errors.New(wanting + " needs tls-cert-file")
	case o.KeyFile == "":
		return nil, errors.New(wanting + " needs tls-key-file")
	case o.Replication && noAuthorities:
		return nil, errors.New("tls-replication needs tls-ca-cert-file or tls-ca-cert-dir")
	case o.AuthClients != "no" && noAuthorities:
		return nil, fmt.Errorf("tls-auth-clients %s needs tls-ca-cert-file or tls-ca-cert-dir", o.AuthClients)
	}
	c := &tls.Config{
		// Replies are written whole. Records that begin small serve browsers, which
		// draw what has arrived.
		DynamicRecordSizingDisabled: true,
		SessionTicketsDisabled:      !o.SessionCaching,
		Time:                        o.Now,
	}
	certificate, err := loadCertificate("tls-", o.CertFile, o.KeyFile, o.KeyFilePass)
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{certificate}
	if c.ClientCAs, err = loadAuthorities(o.CACertFile, o.CACertDir); err != nil {
		return nil, err
	}
	if c.ClientAuth, err = clientAuth(o.AuthClients); err != nil {
		return nil, err
	}
	if c.MinVersion, c.MaxVersion, err = parseProtocols(o.Protocols); err != nil {
		return nil, err
	}
	if c.CipherSuites, err = parseCiphers(o.Ciphers); err != nil {
		return nil, err
	}
	if err := checkCipherSuites(o.CipherSuites); err != nil {
		return nil, err
	}
	if o.SessionTimeout > 0 {
		limitSessions(c, o.SessionTimeout)
	}
	return c, nil
}

// NewClient reads the files and returns the configuration of a replica's connections to
// its master. What both have in common it takes from the server's configuration.
//
// As in Redis, the master's certificate must be of one of the authorities, and no name
// is compared: a master is known by its address.
func NewClient(o Options, server *tls.Config) (*tls.Config, error) {
	certificate := server.Certificates[0]
	if o.ClientCertFile != "" && o.ClientKeyFile != "" {
		var err error
		certificate, err = loadCertificate("tls-client-", o.ClientCertFile, o.ClientKeyFile,
			o.ClientKeyFilePass)
		if err != nil {
			return nil, err
		}
	}
	return &tls.Config{
		DynamicRecordSizingDisabled: true,
		Time:                        o.Now,
		MinVersion:                  server.MinVersion,
		MaxVersion:                  server.MaxVersion,
		CipherSuites:                server.CipherSuites,
		// Also if the master does not list its authority.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &certificate, nil
		},
		InsecureSkipVerify: true, // VerifyConnection verifies all but the name
		VerifyConnection: func(cs tls.ConnectionState) error {
			verify := x509.VerifyOptions{Roots: server.ClientCAs, Intermediates: x509.NewCertPool()}
			if o.Now != nil {
				verify.CurrentTime = o.Now()
			}
			for _, c := range cs.PeerCertificates[1:] {
				verify.Intermediates.AddCert(c)
			}
			_, err := cs.PeerCertificates[0].Verify(verify)
			return err
		},
	}, nil
}

// Leaf returns the server's own certificate of a configuration that New has made.
func Leaf(c *tls.Config) *x509.Certificate { return c.Certificates[0].Leaf }

func clientAuth(word string) (tls.ClientAuthType, error) {
	switch word {
	case "yes":
		return tls.RequireAndVerifyClientCert, nil
	case "optional":
		return tls.VerifyClientCertIfGiven, nil
	case "no":
		return tls.NoClientCert, nil
	}
	return 0, fmt.Errorf("tls-auth-clients must be yes, no or optional, not %q", word)
}
