// Package directives reads from a configuration how to connect to an upstream.
//
// This package is internal to zlimit: it may change in any release.
package directives

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/upstream"
)

// Address returns the address of a URL, with the user and the password of the directives where it
// has none, and the configuration of TLS that the directives give; nil if the URL is not of TLS.
func Address(c *config.Config, url string) (a upstream.Address, conf *tls.Config, err error) {
	if a, err = upstream.ParseURL(url); err != nil {
		return a, nil, err
	}
	if anybody := a.Login && a.Username == "" && a.Password == ""; !anybody {
		if a.Username == "" {
			a.Username = c.String("upstream-user")
		}
		if a.Password == "" {
			a.Password = c.String("upstream-password")
		}
	}
	a.SentinelUsername = c.String("upstream-sentinel-user")
	a.SentinelPassword = c.String("upstream-sentinel-password")
	for _, login := range [][2]string{{a.Username, a.Password}, {a.SentinelUsername, a.SentinelPassword}} {
		if login[0] != "" && login[1] == "" {
			return a, nil, fmt.Errorf("upstream: the user %q needs a password", login[0])
		}
	}
	if a.TLS {
		conf, err = tlsConfig(c)
	}
	return a, conf, err
}

// tlsConfig returns the configuration of connections to an upstream over TLS.
func tlsConfig(c *config.Config) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := c.String("upstream-tls-ca-cert-file"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("upstream-tls-ca-cert-file: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("upstream-tls-ca-cert-file has no certificate")
		}
	}
	if name := c.String("upstream-tls-cert-file"); name != "" {
		pair, err := tls.LoadX509KeyPair(name, c.String("upstream-tls-key-file"))
		if err != nil {
			return nil, fmt.Errorf("upstream-tls-cert-file: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}
