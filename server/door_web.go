package server

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/web"
)

// A webDoor is the service of rl-http-addr.
type webDoor struct {
	*door
	web *web.Server
}

func openWeb(d *door, access *doors.Access) doorService {
	s := d.server
	return &webDoor{d, web.New(&web.Options{
		Login: access.Login, Policies: s.engine.Policies, Serving: s.decides, Now: time.Now, Log: d.warn,
	})}
}

// serve implements doorService.
func (d *webDoor) serve() {
	bounded := web.NewListener(d.listener.(*net.TCPListener), int(d.maxConns), Network)
	var l net.Listener = &admitting{bounded, d.door}
	if d.overTLS {
		l = tls.NewListener(l, &tls.Config{
			MinVersion:         tls.VersionTLS12, // of the configuration that is replaced by
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.tlsConfig(), nil },
		})
	}
	if err := d.web.Serve(l); err != nil {
		d.warn("%s", err)
	}
}

// shutdown implements doorService.
func (d *webDoor) shutdown(ctx context.Context) { _ = d.web.Shutdown(ctx) } // what is left is cut

// admitting is a listener that closes connections which protected-mode denies.
type admitting struct {
	net.Listener
	door *door
}

// Accept returns the next connection that is admitted.
func (l *admitting) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !l.door.server.isDenied(nc.RemoteAddr()) {
			return nc, nil
		}
		l.door.reject(nc)
	}
}
