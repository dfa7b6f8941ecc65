package server

import (
	"net"
	"time"

	"github.com/zlimit/zlimit/config"
)

// Redis' texts for clients that are not admitted.
const (
	maxClientsError = "-ERR max number of clients reached\r\n"
	deniedError     = "-DENIED protected-mode is on and no password is set, " +
		"so only clients of this machine are answered: " +
		"set requirepass, or bind to trusted addresses and set protected-mode to no.\r\n"
)

// connLimits are the directives that apply to connections.
type connLimits struct {
	maxBulkLen  int64                    // proto-max-bulk-len
	maxQueryBuf int64                    // client-query-buffer-limit
	idle        time.Duration            // timeout; 0: none
	keepAlive   time.Duration            // tcp-keepalive; 0: off
	output      config.OutputBufferLimit // of a connection that has not subscribed
	subscriber  config.OutputBufferLimit // of one that has
}

// followLimits updates the cached directives at every CONFIG SET, and wakes the
// connections that wait for input.
func (s *Server) followLimits() {
	s.cfg.Follow(func() {
		now := connLimits{
			maxBulkLen:  s.cfg.Int("proto-max-bulk-len"),
			maxQueryBuf: s.cfg.Int("client-query-buffer-limit"),
			idle:        time.Duration(s.cfg.Int("timeout")) * time.Second,
			keepAlive:   time.Duration(s.cfg.Int("tcp-keepalive")) * time.Second,
			output:      s.cfg.OutputBufferLimit(config.ClassNormal),
			subscriber:  s.cfg.OutputBufferLimit(config.ClassPubSub),
		}
		if old := s.limits.Load(); old != nil && *old == now {
			return
		}
		s.limits.Store(&now)
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.wake()
		}
	})
}

// reader returns the limits of a session's reader.
func (l *connLimits) reader(authenticated bool) limits {
	d := defaultLimits()
	d.maxBulkLen, d.maxQueryBuf, d.authenticated = l.maxBulkLen, l.maxQueryBuf, authenticated
	return d
}

// isDenied reports whether protected-mode denies a client now.
func (s *Server) isDenied(remote net.Addr) bool {
	return s.engine.ProtectedModeDenies(IsLocal(remote))
}

// IsLocal reports whether a client is on this machine: as in Redis, whether it has a Unix
// socket, or comes from 127.0.0.1 or ::1.
func IsLocal(remote net.Addr) bool {
	addr, ok := remote.(*net.TCPAddr)
	return !ok || addr.IP.Equal(net.IPv4(127, 0, 0, 1)) || addr.IP.Equal(net.IPv6loopback)
}

// Network returns what the addresses of one client have in common, as engine.Peer's
// field of that name: an IPv4 address, an IPv6 network of 64 bits, or "" for clients that
// have no IP address.
func Network(remote net.Addr) string {
	addr, ok := remote.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := addr.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	prefix, _ := ip.Prefix(64)
	return prefix.String()
}
