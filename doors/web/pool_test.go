package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

// TestClientsArePooled by credentials, for some seconds.
func TestClientsArePooled(t *testing.T) {
	b := newBench(t)
	ask := func(headers ...string) { b.check(oneDescriptor, headers...) }
	ask()
	ask()
	require.Len(t, b.logins, 1)
	ask("Authorization: Basic a")
	ask("Authorization: Basic b")
	ask("Authorization: Basic a")
	ask()
	require.Len(t, b.logins, 3)
	other := request("POST", "/v1/check", oneDescriptor, "Content-Type: application/json")
	other.RemoteAddr = "192.0.2.2:1"
	b.do(other)
	require.Len(t, b.logins, 4, "another address")
	for _, name := range []string{"a", "b", "a"} {
		r := request("POST", "/v1/check", oneDescriptor, "Content-Type: application/json")
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{
			{Subject: pkix.Name{CommonName: name}}, {Subject: pkix.Name{CommonName: "the authority"}},
		}}
		b.do(r)
	}
	require.Len(t, b.logins, 6, "other certificates")
	require.Equal(t, "b", b.logins[5].CommonName)
	require.Zero(t, b.closed)
	b.now = b.now.Add(10 * time.Second)
	ask()
	require.Len(t, b.logins, 7)
	require.Equal(t, 6, b.closed, "those that are too old")
	b.now = b.now.Add(-time.Hour)
	ask()
	require.Len(t, b.logins, 8, "the clock has stepped back")
	for i := range 100 {
		ask(fmt.Sprintf("Authorization: Basic %d", i))
	}
	require.Len(t, b.logins, 108)
	require.Equal(t, 108-64, b.closed)
	ask("Authorization: Basic 36")
	require.Len(t, b.logins, 108)
	ask("Authorization: Basic 35")
	require.Len(t, b.logins, 109)
	require.NoError(t, b.server.Shutdown(t.Context()))
	require.Equal(t, 109, b.closed)
	ask()
	require.Equal(t, 110, b.closed, "after the end no client is kept")
}

// TestRunningRequestsAreBounded: further ones are refused, and those before have each a client of their own.
func TestRunningRequestsAreBounded(t *testing.T) {
	b := newBench(t)
	started, end := make(chan struct{}), make(chan struct{})
	b.decide = func(*doors.Request, *doors.Response) error {
		started <- struct{}{}
		<-end
		return nil
	}
	var wait sync.WaitGroup
	for range 256 {
		wait.Go(func() { b.check(oneDescriptor) })
		<-started
	}
	w, body := b.check(oneDescriptor)
	require.Equal(t, 503, w.Code)
	require.JSONEq(t, `{"error":"too many requests at a time"}`, body)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	close(end)
	wait.Wait()
	require.Len(t, b.logins, 256)
	require.Equal(t, 256-64, b.closed)
	b.decide = nil
	w, _ = b.check(oneDescriptor)
	require.Equal(t, 200, w.Code)
}
