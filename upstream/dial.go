package upstream

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9/maintnotifications"
)

// A dialError is the failure of a connection that was never made: nothing was sent.
type dialError struct{ cause error }

// Error returns what went wrong.
func (e *dialError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *dialError) Unwrap() error { return e.cause }

// dialer returns the function by which the client library connects.
func (u *Upstream) dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, u.options.Timeout)
		defer cancel()
		d := net.Dialer{KeepAlive: 15 * time.Second}
		nc, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		if !u.options.Address.TLS {
			return nc, nil
		}
		secured := tls.Client(nc, u.tlsConfig(addr))
		if err := secured.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, &dialError{err}
		}
		return secured, nil
	}
}

// tlsConfig returns the configuration of connections to an address.
func (u *Upstream) tlsConfig(addr string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if u.options.TLS != nil {
		c = u.options.TLS.Clone()
	}
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(addr)
	}
	return c
}

// noMaintNotifications keeps the client library from asking nodes for notifications of their
// maintenance, which only managed services know.
func noMaintNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
