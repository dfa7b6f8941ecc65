// Package testca issues certificates for tests and comparisons over TLS. Keys are
// of the curve P-256, which takes no time, unless RSA is asked for.
//
// This package is internal to zlimit: it may change in any release.
package testca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An Authority signs certificates. Those must have other names than it: OpenSSL takes a
// certificate whose issuer has its own name for self-signed.
type Authority struct {
	key  crypto.Signer
	cert *x509.Certificate
}

// New returns an authority that signs its own certificate.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := Leaf{Name: name}.template()
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &Authority{key, cert}, err
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return certificatePEM(a.cert.Raw) }

// Pool returns a pool of the authority's certificate.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Write writes the authority's certificate to a file and returns its path.
func (a *Authority) Write(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, a.PEM(), 0o600)
}

// A Leaf says what to certify.
type Leaf struct {
	Name     string
	NotAfter time.Time // zero: in ten years
	RSA      bool      // a key of RSA, 2048 bits
}

func (l Leaf) template() *x509.Certificate {
	if l.NotAfter.IsZero() {
		l.NotAfter = time.Now().AddDate(10, 0, 0)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // the reader cannot fail
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: l.Name},
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), // also for clocks of tests
		NotAfter:  l.NotAfter,
		DNSNames:  []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
}

// A Pair is a certificate and its private key, in PEM.
type Pair struct{ Cert, Key []byte }

// Issue makes a key and certifies it, for localhost.
func (a *Authority) Issue(l Leaf) (Pair, error) {
	var key crypto.Signer
	var err error
	if l.RSA {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, l.template(), a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	return Pair{
		Cert: certificatePEM(der),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, err
}

// TLS returns the pair for a tls.Config.
func (p Pair) TLS() (tls.Certificate, error) { return tls.X509KeyPair(p.Cert, p.Key) }

// Write writes the pair to name.crt and name.key and returns their paths.
func (p Pair) Write(dir, name string) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if err := os.WriteFile(certFile, p.Cert, 0o600); err != nil {
		return "", "", err
	}
	return certFile, keyFile, os.WriteFile(keyFile, p.Key, 0o600)
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
