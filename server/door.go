package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/rls"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/logging"
)

// A door is the listener of rl-grpc-addr, which Envoy's rate limit service is asked at.
type door struct {
	server   *Server
	listener net.Listener
	overTLS  bool
	rls      *rls.Server
	conns    atomic.Int64
}

// Bounds of a door.
const (
	maxDoorConns = 4096
	// doorIdle is how long a connection may have no request under way.
	doorIdle = time.Hour
	// doorDrain is how long a shutdown waits for requests under way.
	doorDrain = 5 * time.Second
)

// headersOfDoor are the headers of rl-door-headers, which are those of Envoy's HTTP filter.
var headersOfDoor = [3]string{"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}

// openDoor opens rl-grpc-addr, if it is not empty.
func (s *Server) openDoor() error {
	address := s.cfg.String("rl-grpc-addr")
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("rl-grpc-addr: %w", err)
	}
	d := &door{server: s, listener: l, overTLS: s.cfg.Bool("rl-door-tls")}
	access := doors.Access{Engine: s.engine, Peer: d.peer, User: s.cfg.String("rl-door-user"), Ending: s.done}
	o := rls.Options{
		Login: access.Login, Waits: s.engine.ChecksWait, Metadata: s.cfg.Bool("rl-door-metadata"), Idle: doorIdle,
		Serving: func() bool { return s.loading.isDone() && !s.isClosing() },
		Log:     func(format string, args ...any) { s.log.Warn("rl-grpc-addr: " + fmt.Sprintf(format, args...)) },
	}
	if s.cfg.Bool("rl-door-headers") {
		o.Headers = headersOfDoor
	}
	d.rls = rls.New(&o)
	s.door = d
	return nil
}

// peer returns what the session of a connection from an address knows of it.
func (d *door) peer(addr string) engine.Peer {
	p := engine.Peer{Addr: addr, LocalAddr: d.listener.Addr().String(), FD: -1, TLS: d.overTLS, Name: "door"}
	if remote, err := net.ResolveTCPAddr("tcp", addr); err == nil {
		p.Network, p.Local = Network(remote), IsLocal(remote)
	}
	return p
}

// serve accepts connections until the server closes, and returns when they have ended.
func (d *door) serve() {
	d.server.accept(d.listener, func(nc net.Conn) {
		if d.conns.Add(1) > maxDoorConns || d.server.isDenied(nc.RemoteAddr()) {
			d.server.engine.Stats().Rejected.Add(1)
			d.conns.Add(-1)
			nc.Close()
			return
		}
		d.server.wg.Go(func() {
			defer d.conns.Add(-1)
			if err := d.serveConn(nc); err != nil && !errors.Is(err, rls.ErrShutdown) {
				d.server.log.Log(context.Background(), logging.Verbose, "a connection of rl-grpc-addr has failed",
					"addr", nc.RemoteAddr().String(), "error", err)
			}
		})
	})
	ctx, cancel := context.WithTimeout(context.Background(), doorDrain)
	defer cancel()
	_ = d.rls.Shutdown(ctx) // what is left is cut
}

// serveConn serves a connection, after the handshake if it is over TLS.
func (d *door) serveConn(nc net.Conn) error {
	if !d.overTLS {
		return d.rls.Serve(nc, "")
	}
	config := d.server.tls.server.Load().Clone()
	config.NextProtos = []string{"h2"}
	over := tls.Server(nc, config)
	ctx, cancel := context.WithTimeout(context.Background(), d.server.tls.timeout)
	defer cancel()
	if err := over.HandshakeContext(ctx); err != nil {
		d.server.engine.Stats().Handshakes.Add(1)
		nc.Close()
		return err
	}
	name := ""
	if shown := over.ConnectionState().PeerCertificates; len(shown) > 0 {
		name = shown[0].Subject.CommonName
	}
	return d.rls.Serve(over, name)
}

// DoorAddr returns the address of rl-grpc-addr, or nil if it is empty.
func (s *Server) DoorAddr() net.Addr {
	if s.door == nil {
		return nil
	}
	return s.door.listener.Addr()
}
