package sentinel

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

// secure is what a set needs to speak TLS everywhere: each side shows a certificate.
type secure struct {
	directives []string // of servers and sentinels
	client     *tls.Config
}

// newSecure issues certificates. All servers and sentinels show the same one.
func newSecure(t *testing.T) *secure {
	t.Helper()
	dir := t.TempDir()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	caFile, err := ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	issued, err := ca.Issue(testca.Leaf{Name: "member"})
	require.NoError(t, err)
	cert, key, err := issued.Write(dir, "member")
	require.NoError(t, err)
	pair, err := issued.TLS()
	require.NoError(t, err)
	return &secure{
		directives: []string{
			"tls-cert-file " + cert, "tls-key-file " + key, "tls-ca-cert-file " + caFile,
			"tls-replication yes",
		},
		client: &tls.Config{
			RootCAs: ca.Pool(), Certificates: []tls.Certificate{pair}, ServerName: "localhost",
		},
	}
}
