package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
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
	dial := u.options.Address.dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, u.options.Timeout)
		defer cancel()
		nc, err := dial(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		nc = &patient{Conn: nc}
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

// A patient connection counts a read deadline from the last byte that has arrived, so that long replies,
// which a slow network delivers in many parts, are not taken for a node that has failed. Only silence is: for
// at least the time that was set, and at most twice that.
type patient struct {
	net.Conn
	span    time.Duration // until the deadline when it was set; 0: there is none
	arrived bool          // bytes, since the deadline was set or renewed
}

// SetReadDeadline implements net.Conn.
func (c *patient) SetReadDeadline(t time.Time) error {
	c.arrived, c.span = false, 0
	if !t.IsZero() {
		c.span = max(time.Until(t), 0)
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *patient) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read implements net.Conn. It makes no additional system calls unless the deadline passes.
func (c *patient) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		switch {
		case n > 0:
			c.arrived = true
		case c.arrived && c.span > 0 && errors.Is(err, os.ErrDeadlineExceeded):
			c.arrived = false
			if err := c.Conn.SetReadDeadline(time.Now().Add(c.span)); err != nil {
				return 0, err
			}
			continue
		}
		return n, err
	}
}

// SyscallConn implements syscall.Conn, by which the client library looks whether a node has closed the
// connection.
func (c *patient) SyscallConn() (syscall.RawConn, error) {
	if conn, ok := c.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
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
	return &maintnotifications.Config{
		Mode:         maintnotifications.ModeDisabled,
		EndpointType: maintnotifications.EndpointTypeNone, // otherwise each client looks up the host's name
	}
}
