package server

import (
	"errors"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/config"
)

// connLimits are the directives that connections obey, as CONFIG SET last left
// them.
type connLimits struct {
	maxBulkLen  int64         // proto-max-bulk-len
	maxQueryBuf int64         // client-query-buffer-limit
	idle        time.Duration // timeout; 0: none
	keepAlive   time.Duration // tcp-keepalive; 0: off
	output      config.OutputBufferLimit
}

// followLimits keeps the cached directives true.
func (s *Server) followLimits() {
	refresh := func() {
		s.limits.Store(&connLimits{
			maxBulkLen:  s.cfg.Int("proto-max-bulk-len"),
			maxQueryBuf: s.cfg.Int("client-query-buffer-limit"),
			idle:        time.Duration(s.cfg.Int("timeout")) * time.Second,
			keepAlive:   time.Duration(s.cfg.Int("tcp-keepalive")) * time.Second,
			output:      s.cfg.OutputBufferLimit(config.ClassNormal),
		})
	}
	refresh()
	for _, name := range []string{
		"proto-max-bulk-len", "client-query-buffer-limit", "timeout", "tcp-keepalive", "client-output-buffer-limit",
	} {
		s.cfg.OnChange(name, refresh)
	}
}

// reader returns what the wire reader checks for a session.
func (l *connLimits) reader(authenticated bool) limits {
	d := defaultLimits()
	d.maxBulkLen, d.maxQueryBuf, d.authenticated = l.maxBulkLen, l.maxQueryBuf, authenticated
	return d
}

func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
