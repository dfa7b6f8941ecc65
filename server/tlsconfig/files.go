package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// maxFileBytes bounds the reading of files such as /dev/zero. The certificates of
// all public authorities are a quarter of it.
const maxFileBytes = 1 << 20

// loadCertificate reads certificates and their private key. The directives that name the
// files begin with prefix.
func loadCertificate(prefix, certFile, keyFile, pass string) (tls.Certificate, error) {
	certDirective, keyDirective := prefix+"cert-file", prefix+"key-file"
	chain, err := readFile(certDirective, certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	if _, err := parseCertificates(chain); err != nil {
		return tls.Certificate{}, fmt.Errorf("%s %s: %w", certDirective, certFile, err)
	}
	key, err := readFile(keyDirective, keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	if key, err = decryptKey(key, pass); err != nil {
		return tls.Certificate{}, fmt.Errorf("%s %s: %w", keyDirective, keyFile, err)
	}
	c, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s %s: not a private key of the certificate in %s %s: %w",
			keyDirective, keyFile, certDirective, certFile, withoutPrefix(err))
	}
	return c, nil
}

// loadAuthorities reads the certificates of a file and a directory, either of which
// may be empty.
func loadAuthorities(file, dir string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if file != "" {
		if err := addFile(pool, "tls-ca-cert-file", file); err != nil {
			return nil, err
		}
	}
	if dir != "" {
		if err := addDir(pool, dir); err != nil {
			return nil, err
		}
	}
	return pool, nil
}

// rehashed matches the names that openssl rehash gives to certificates. Only these
// are read, as by OpenSSL: a certificate that happens to be in the directory is not
// thereby trusted.
var rehashed = regexp.MustCompile(`^[0-9a-f]{8}\.[0-9]+$`)

func addDir(pool *x509.CertPool, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("tls-ca-cert-dir %s: %w", dir, cause(err))
	}
	found := false
	for _, e := range entries {
		if rehashed.MatchString(e.Name()) {
			found = true
			if err := addFile(pool, "tls-ca-cert-dir", filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("tls-ca-cert-dir %s: no certificates named as by openssl rehash", dir)
	}
	return nil
}

func addFile(pool *x509.CertPool, directive, file string) error {
	text, err := readFile(directive, file)
	if err != nil {
		return err
	}
	certificates, err := parseCertificates(text)
	if err != nil {
		return fmt.Errorf("%s %s: %w", directive, file, err)
	}
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return nil
}

// parseCertificates returns the certificates of a PEM file, which has at least one.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("invalid certificate: %w", withoutPrefix(err))
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate in PEM")
	}
	return out, nil
}

// readFile reads a file that a directive names.
func readFile(directive, name string) (_ []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", directive, name, cause(err))
		}
	}()
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a directory")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("longer than %d bytes", maxFileBytes)
	}
	return text, err
}

// cause omits the path that a PathError repeats.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// withoutPrefix returns an error of crypto/tls or crypto/x509 on one line and
// without the package's name.
func withoutPrefix(err error) error {
	text := []byte(err.Error())
	for _, prefix := range []string{"tls: ", "x509: "} {
		text = bytes.TrimPrefix(text, []byte(prefix))
	}
	return errors.New(string(bytes.ReplaceAll(text, []byte("\n"), []byte(" "))))
}
