package envoy

import (
	"crypto/tls"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors/rls"
	"github.com/zlimit/zlimit/testca"
)

// TestRLSTLS calls over TLS with a client's certificate, whose name the login sees.
func TestRLSTLS(t *testing.T) {
	ca, err := testca.New("an authority")
	require.NoError(t, err)
	issue := func(l testca.Leaf) tls.Certificate {
		pair, err := ca.Issue(l)
		require.NoError(t, err)
		cert, err := pair.TLS()
		require.NoError(t, err)
		return cert
	}
	d := startDoor(t, rls.Options{}, allowed, &tls.Config{
		Certificates: []tls.Certificate{issue(testca.Leaf{Name: "server"})},
		ClientCAs:    ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
	})
	conn := d.dial(t, &tls.Config{
		RootCAs: ca.Pool(), ServerName: "localhost",
		Certificates: []tls.Certificate{issue(testca.Leaf{Name: "envoy-7"})},
	})
	client := pb.NewRateLimitServiceClient(conn)
	for range 100 {
		got, err := client.ShouldRateLimit(t.Context(), request("d", []string{"a", "b"}))
		require.NoError(t, err)
		require.Equal(t, pb.RateLimitResponse_OK, got.OverallCode)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Len(t, d.logins, 1)
	require.Equal(t, "envoy-7", d.logins[0].CommonName)
}
