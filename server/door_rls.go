package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/rls"
	"github.com/zlimit/zlimit/logging"
)

// An rlsDoor is the service of rl-grpc-addr, which Envoy's rate limit service is asked at.
type rlsDoor struct {
	*door
	rls   *rls.Server
	conns atomic.Int64
}

// doorIdle is how long a connection may have no request under way.
const doorIdle = time.Hour

// headersOfDoor are the headers of rl-door-headers, which are those of Envoy's HTTP filter.
var headersOfDoor = [3]string{"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}

func openRLS(d *door, access *doors.Access) doorService {
	s := d.server
	o := rls.Options{
		Login: access.Login, Waits: s.engine.ChecksWait, Metadata: s.cfg.Bool("rl-door-metadata"),
		Idle: doorIdle, Serving: s.decides, Log: d.warn,
	}
	if s.cfg.Bool("rl-door-headers") {
		o.Headers = headersOfDoor
	}
	return &rlsDoor{door: d, rls: rls.New(&o)}
}

// serve implements doorService.
func (d *rlsDoor) serve() {
	d.server.accept(d.listener, func(nc net.Conn) {
		if d.conns.Add(1) > d.maxConns || d.server.isDenied(nc.RemoteAddr()) {
			d.conns.Add(-1)
			d.reject(nc)
			return
		}
		d.server.wg.Go(func() {
			defer d.conns.Add(-1)
			if err := d.serveConn(nc); err != nil && !errors.Is(err, rls.ErrShutdown) {
				d.server.log.Log(context.Background(), logging.Verbose,
					"a connection of rl-grpc-addr has failed", "addr", nc.RemoteAddr().String(), "error", err)
			}
		})
	})
}

// shutdown implements doorService.
func (d *rlsDoor) shutdown(ctx context.Context) { _ = d.rls.Shutdown(ctx) } // what is left is cut

// serveConn serves a connection, after the handshake if it is over TLS.
func (d *rlsDoor) serveConn(nc net.Conn) error {
	if !d.overTLS {
		return d.rls.Serve(nc, "")
	}
	over := tls.Server(nc, d.tlsConfig())
	ctx, cancel := context.WithTimeout(context.Background(), d.server.tls.timeout)
	defer cancel()
	go func() { // a shutdown does not wait for a handshake
		select {
		case <-d.server.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := over.HandshakeContext(ctx); err != nil {
		d.server.engine.Stats().Refusals.Handshakes.Add(1)
		nc.Close()
		return err
	}
	name := ""
	if shown := over.ConnectionState().PeerCertificates; len(shown) > 0 {
		name = shown[0].Subject.CommonName
	}
	return d.rls.Serve(over, name)
}
