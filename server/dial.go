package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// dialMaster is engine.Options.Dial: it connects to a master, over TLS if tls-replication says so.
func (s *Server) dialMaster(addr string, stop <-chan struct{}) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	connected := make(chan struct{})
	defer close(connected)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-connected:
		}
	}()
	d := net.Dialer{KeepAlive: 15 * time.Second}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil || !s.cfg.Bool("tls-replication") {
		return nc, err
	}
	conn, err := s.secure(ctx, nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("TLS with the master: %w", err)
	}
	return conn, nil
}

// secure makes the handshake of a client.
func (s *Server) secure(ctx context.Context, nc net.Conn) (*masterConn, error) {
	if s.tls.client.Load() == nil { // no Listen, or CONFIG SET tls-replication is under way
		if err := s.ReloadTLS(); err != nil {
			return nil, err
		}
	}
	c := tls.Client(nc, s.tls.client.Load())
	return &masterConn{c}, c.HandshakeContext(ctx)
}

// A masterConn is a connection to a master over TLS.
type masterConn struct{ *tls.Conn }

// Write returns why the master refuses the certificate, if it has said so. In TLSv1.3 that comes after the
// handshake, and perhaps with the end of the connection, so that nothing can be written.
func (c *masterConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil {
		return n, nil
	}
	var alert *net.OpError // as crypto/tls returns it
	if _, readErr := c.Read(make([]byte, 1)); errors.As(readErr, &alert) && alert.Op == "remote error" {
		err = readErr
	}
	return n, err
}

// Close closes the connection at once. That of tls.Conn may wait for a master that reads nothing.
func (c *masterConn) Close() error { return c.NetConn().Close() }
