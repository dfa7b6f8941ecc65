package tlsconfig

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

func TestParseProtocols(t *testing.T) {
	for _, row := range []struct {
		text            string
		lowest, highest uint16
		err             string
	}{
		{"", tls.VersionTLS12, tls.VersionTLS13, ""},
		{"TLSv1.2", tls.VersionTLS12, tls.VersionTLS12, ""},
		{"tlsv1.3", tls.VersionTLS13, tls.VersionTLS13, ""},
		{"TLSv1.3 TLSv1.2", tls.VersionTLS12, tls.VersionTLS13, ""},
		{"TLSv1 TLSv1.1 TLSv1.2 TLSv1.3", tls.VersionTLS10, tls.VersionTLS13, ""},
		{
			"TLSv1 TLSv1.2", 0, 0,
			"tls-protocols: crypto/tls cannot leave out TLSv1.1 between two others",
		},
		{
			"TLSv1 TLSv1.3", 0, 0,
			"tls-protocols: crypto/tls cannot leave out TLSv1.2 between two others",
		},
		{"SSLv3", 0, 0, errProtocols.Error()},
		{"TLSv1.2 TLSv9", 0, 0, errProtocols.Error()},
		{" ", 0, 0, errProtocols.Error()},
		{"TLSv1.2,TLSv1.3", 0, 0, errProtocols.Error()},
		{"TLSv1.2\x00", 0, 0, errProtocols.Error()},
	} {
		lowest, highest, err := parseProtocols(row.text)
		if row.err != "" {
			require.EqualError(t, err, row.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []uint16{row.lowest, row.highest}, []uint16{lowest, highest}, row.text)
	}
}

func TestParseCiphers(t *testing.T) {
	const name, other = "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"
	for _, row := range []struct {
		text string
		want []uint16
		err  string
	}{
		{"", nil, ""},
		{"DEFAULT", nil, ""},
		{"DEFAULT:!MEDIUM", nil, ""},
		{"HIGH:!aNULL:!MD5", nil, ""},
		{name, []uint16{suites[name]}, ""},
		{name + ":" + other, []uint16{suites[name], suites[other]}, ""},
		{name + "," + other + " !RC4", []uint16{suites[name], suites[other]}, ""},
		{"!aNULL", nil, `tls-ciphers "!aNULL" leaves no cipher suite`},
		{":", nil, `tls-ciphers ":" leaves no cipher suite`},
		{"FOO:" + name, nil, `tls-ciphers: crypto/tls has no "FOO"; it has DEFAULT and `},
		{"DEFAULT:!" + name, nil, `tls-ciphers: crypto/tls has no "!` + name + `"; it has `},
		{"AES256-SHA", nil, `tls-ciphers: crypto/tls has no "AES256-SHA"; it has `},
		{"@SECLEVEL=0", nil, `tls-ciphers: crypto/tls has no "@SECLEVEL=0"; it has `},
		{"a\nb", nil, `tls-ciphers: crypto/tls has no "a\nb"; it has `},
	} {
		got, err := parseCiphers(row.text)
		if row.err != "" {
			require.ErrorContains(t, err, row.err)
			require.NotContains(t, err.Error(), "\n")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, row.want, got, row.text)
	}
}

// TestSuitesAreSecure: crypto/tls has every suite of the table, calls none insecure,
// and offers no others.
func TestSuitesAreSecure(t *testing.T) {
	known := map[uint16]bool{}
	for _, s := range tls.CipherSuites() {
		known[s.ID] = true
	}
	for name, id := range suites {
		require.True(t, known[id], name)
	}
	for name, id := range suites13 {
		require.True(t, known[id], name)
		require.Equal(t, name, tls.CipherSuiteName(id))
	}
}

func TestCheckCipherSuites(t *testing.T) {
	all := strings.Join(sortedNames(suites13), ":")
	require.NoError(t, checkCipherSuites(""))
	require.NoError(t, checkCipherSuites(all))
	require.EqualError(t, checkCipherSuites("TLS_AES_128_GCM_SHA256"),
		"tls-ciphersuites: crypto/tls cannot leave out TLS_AES_256_GCM_SHA384; leave the directive empty")
	require.EqualError(t, checkCipherSuites(all+":TLS_AES_128_CCM_SHA256"),
		`tls-ciphersuites: crypto/tls has no "TLS_AES_128_CCM_SHA256"; it has `+all)
}

// TestFiles: what is wrong with a file is one line that names directive and file.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	caFile, err := ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	pair, err := ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	cert, key, err := pair.Write(dir, "server")
	require.NoError(t, err)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	garbage := write("garbage", "\x00\x01")
	broken := write("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	long := write("long", strings.Repeat("x", maxFileBytes+1))
	hashed := write("hashed/0a1b2c3d.0", string(ca.PEM()))
	write("hashed/README", "not a certificate")
	write("unhashed/ca.pem", string(ca.PEM()))
	write("bad/0a1b2c3d.0", "not a certificate")
	sound := Options{CertFile: cert, KeyFile: key, CACertFile: caFile, AuthClients: "yes"}
	for _, row := range []struct {
		change func(o *Options)
		want   string // "": no error
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.CACertFile, o.AuthClients = "", "no" }, ""},
		{func(o *Options) { o.CACertFile, o.CACertDir = "", filepath.Dir(hashed) }, ""},
		{func(o *Options) { o.KeyFilePass = "not needed" }, ""},
		{
			func(o *Options) { o.CACertFile, o.AuthClients = "", "optional" },
			"tls-auth-clients optional needs tls-ca-cert-file or tls-ca-cert-dir",
		},
		{func(o *Options) { o.CertFile = garbage }, "tls-cert-file " + garbage + ": no certificate in PEM"},
		{func(o *Options) { o.CertFile = key }, "tls-cert-file " + key + ": no certificate in PEM"},
		{func(o *Options) { o.CertFile = dir }, "tls-cert-file " + dir + ": is a directory"},
		{func(o *Options) { o.CertFile = broken }, "tls-cert-file " + broken + ": invalid certificate: "},
		{func(o *Options) { o.CertFile = long }, "tls-cert-file " + long + ": longer than 1048576 bytes"},
		{func(o *Options) { o.KeyFile = cert }, "tls-key-file " + cert + ": no private key in PEM"},
		{func(o *Options) { o.KeyFile = garbage }, "tls-key-file " + garbage + ": no private key in PEM"},
		{
			func(o *Options) { o.CertFile = caFile },
			"tls-key-file " + key + ": not a private key of the certificate in tls-cert-file " + caFile +
				": private key does not match public key",
		},
		{
			func(o *Options) { o.CACertFile = garbage },
			"tls-ca-cert-file " + garbage + ": no certificate in PEM",
		},
		{
			func(o *Options) { o.CACertFile = dir + "/no" },
			"tls-ca-cert-file " + dir + "/no: no such file or directory",
		},
		{func(o *Options) { o.CACertDir = caFile }, "tls-ca-cert-dir " + caFile + ": not a directory"},
		{
			func(o *Options) { o.CACertDir = filepath.Join(dir, "unhashed") },
			"tls-ca-cert-dir " + dir + "/unhashed: no certificates named as by openssl rehash",
		},
		{
			func(o *Options) { o.CACertDir = filepath.Join(dir, "bad") },
			"tls-ca-cert-dir " + dir + "/bad/0a1b2c3d.0: no certificate in PEM",
		},
	} {
		o := sound
		row.change(&o)
		c, err := New(o)
		if row.want == "" {
			require.NoError(t, err)
			require.Equal(t, "server", Leaf(c).Subject.CommonName)
			continue
		}
		require.ErrorContains(t, err, row.want)
		require.NotContains(t, err.Error(), "\n")
		require.Nil(t, c)
	}
}

// TestSessionTimeout: a ticket is accepted for as long as the timeout says.
func TestSessionTimeout(t *testing.T) {
	ca, err := testca.New("ca")
	require.NoError(t, err)
	dir := t.TempDir()
	pair, err := ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	cert, key, err := pair.Write(dir, "server")
	require.NoError(t, err)
	now := time.Now()
	c, err := New(Options{
		CertFile: cert, KeyFile: key, AuthClients: "no", SessionCaching: true,
		SessionTimeout: 300 * time.Second, Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	ticket, err := c.WrapSession(tls.ConnectionState{}, session(t, c))
	require.NoError(t, err)
	accepted := func() bool {
		s, err := c.UnwrapSession(ticket, tls.ConnectionState{})
		require.NoError(t, err)
		return s != nil
	}
	issuedAt := now
	for _, row := range []struct {
		age  time.Duration
		want bool
	}{
		{0, true},
		{299 * time.Second, true},
		{300 * time.Second, true},
		{302 * time.Second, false},
		{-time.Hour, false},
		{time.Second, true},
	} {
		now = issuedAt.Truncate(time.Second).Add(row.age)
		require.Equal(t, row.want, accepted(), row.age)
	}
	ticket = []byte("forged")
	require.False(t, accepted())
}

// session returns a session of a real handshake.
func session(t *testing.T, c *tls.Config) *tls.SessionState {
	t.Helper()
	var made *tls.SessionState
	capturing := c.Clone()
	capturing.WrapSession = func(_ tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		made = s
		return []byte("ticket"), nil
	}
	client, server := net.Pipe()
	defer client.Close()
	done := make(chan error, 1)
	go func() {
		nc := tls.Server(server, capturing)
		err := nc.Handshake()
		nc.Close()
		done <- err
	}()
	nc := tls.Client(client, &tls.Config{
		InsecureSkipVerify: true, Time: c.Time, ClientSessionCache: tls.NewLRUClientSessionCache(1),
	})
	require.NoError(t, nc.Handshake())
	_, err := io.Copy(io.Discard, nc)
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.NotNil(t, made)
	return made
}
