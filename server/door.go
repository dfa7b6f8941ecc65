package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/engine"
)

// A door is the listener of a directive, where proxies ask for decisions by another protocol than Redis'.
type door struct {
	server    *Server
	directive string
	protocol  string // that TLS negotiates
	listener  net.Listener
	maxConns  int64
	overTLS   bool
	service   doorService
}

// A doorService serves the connections of a door.
type doorService interface {
	// serve accepts connections until the listener closes.
	serve()
	// shutdown waits for requests under way, and aborts them when ctx is done.
	shutdown(ctx context.Context)
}

// A doorKind is a kind of door.
type doorKind struct {
	directive string
	protocol  string
	conns     int64 // most connections, if the limit of open files allows them
	open      func(*door, *doors.Access) doorService
}

// doorKinds returns the kinds of the doors that the configuration asks for.
func (s *Server) doorKinds() (kinds []doorKind) {
	for _, k := range [...]doorKind{
		{"rl-grpc-addr", "h2", 4096, openRLS},
		{"rl-http-addr", "http/1.1", 1024, openWeb},
	} {
		if s.cfg.String(k.directive) != "" {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// maxConns returns how many connections a door may have: an eighth of what the limit of open files allows at
// most.
func (k *doorKind) maxConns() int64 { return min(k.conns, openFiles(0)/8) }

// doorDrain is how long a shutdown waits for requests under way.
const doorDrain = 5 * time.Second

// openDoors opens the doors whose directives are not empty: all of them, or none if it returns an error.
func (s *Server) openDoors() error {
	for _, kind := range s.doorKinds() {
		l, err := net.Listen("tcp", s.cfg.String(kind.directive))
		if err != nil {
			s.closeDoors()
			s.doors = nil
			return fmt.Errorf("%s: %w", kind.directive, err)
		}
		d := &door{
			server: s, directive: kind.directive, protocol: kind.protocol, listener: l,
			maxConns: kind.maxConns(), overTLS: s.cfg.Bool("rl-door-tls"),
		}
		d.service = kind.open(d, &doors.Access{
			Engine: s.engine, Peer: d.peer, User: s.cfg.String("rl-door-user"), Ending: s.done,
		})
		s.doors = append(s.doors, d)
	}
	return nil
}

// closeDoors makes the doors accept no more connections.
func (s *Server) closeDoors() {
	for _, d := range s.doors {
		d.listener.Close()
	}
}

// decides reports whether decisions can be made.
func (s *Server) decides() bool { return s.loading.isDone() && !s.isClosing() }

// warn logs what peers of the door have to be told, or the operator.
func (d *door) warn(format string, args ...any) {
	d.server.log.Warn(d.directive + ": " + fmt.Sprintf(format, args...))
}

// peer returns what the session of a connection from an address knows of it.
func (d *door) peer(addr string) engine.Peer {
	p := engine.Peer{Addr: addr, LocalAddr: d.listener.Addr().String(), FD: -1, TLS: d.overTLS, Name: "door"}
	if remote, err := net.ResolveTCPAddr("tcp", addr); err == nil {
		p.Network, p.Local = Network(remote), IsLocal(remote)
	}
	return p
}

// serve serves connections until the server closes, and returns when they have ended.
func (d *door) serve() {
	d.service.serve()
	ctx, cancel := context.WithTimeout(context.Background(), doorDrain)
	defer cancel()
	d.service.shutdown(ctx)
}

// reject closes a connection that is not served.
func (d *door) reject(nc net.Conn) {
	d.server.engine.Stats().Refusals.Rejected.Add(1)
	nc.Close()
}

// tlsConfig returns the configuration of a new connection.
func (d *door) tlsConfig() *tls.Config {
	config := d.server.tls.server.Load().Clone()
	config.NextProtos = []string{d.protocol}
	return config
}

// DoorAddr returns the address of rl-grpc-addr, or nil if it is empty.
func (s *Server) DoorAddr() net.Addr { return s.doorAddr("rl-grpc-addr") }

// HTTPDoorAddr returns the address of rl-http-addr, or nil if it is empty.
func (s *Server) HTTPDoorAddr() net.Addr { return s.doorAddr("rl-http-addr") }

func (s *Server) doorAddr(directive string) net.Addr {
	for _, d := range s.doors {
		if d.directive == directive {
			return d.listener.Addr()
		}
	}
	return nil
}
