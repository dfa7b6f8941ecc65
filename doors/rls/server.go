package rls

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/zlimit/zlimit/doors"
)

// ErrShutdown is returned by Serve after Shutdown.
var ErrShutdown = errors.New("rls: server is shut down")

// Options configures a Server. All functions are called by several goroutines at the same time.
type Options struct {
	// Login returns the client that decides for a peer. A connection calls it once for each distinct value of
	// the Authorization header and remembers the last four. It calls it again after a decision that failed
	// with doors.Unauthenticated, and after a refused login.
	Login doors.Login
	// Serving reports what grpc.health.v1 answers. Nil is always true.
	Serving func() bool
	// Waits reports whether decisions may wait. If so, each is made by a goroutine and a client of its own,
	// up to 100 at a time on a connection; if not, by the connection's goroutine, one after another. Nil is
	// always false.
	Waits func() bool
	// Headers has the names of response_headers_to_add: the limit, what remains of it, and the seconds until
	// it is reset. They are omitted if the first is "".
	Headers [3]string
	// Metadata adds dynamic_metadata to responses.
	Metadata bool
	// Idle is how long a connection may have no open stream before it is closed. 0 is forever.
	Idle time.Duration
	// Now returns the time, which the deadlines of connections and the bounds per second use. Nil is
	// time.Now.
	Now func() time.Time
	// Log is told of panics and of errors other than refusals. Nil logs nothing.
	Log func(format string, args ...any)
}

// A Server serves connections until Shutdown. It is safe for concurrent use.
type Server struct {
	opts Options

	mu     sync.Mutex // protects the fields below; acquired before no other lock
	conns  map[*conn]struct{}
	closed bool
	ended  bool
	empty  chan struct{} // closed, and ended is true, when closed is true and conns is empty
}

// New returns a Server. It panics without a Login.
func New(opts *Options) *Server {
	s := &Server{opts: *opts, conns: map[*conn]struct{}{}, empty: make(chan struct{})}
	if s.opts.Login == nil {
		panic("rls: Options without Login")
	}
	if s.opts.Serving == nil {
		s.opts.Serving = func() bool { return true }
	}
	if s.opts.Waits == nil {
		s.opts.Waits = func() bool { return false }
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if s.opts.Log == nil {
		s.opts.Log = func(string, ...any) {}
	}
	return s
}

// Serve serves a connection until it ends, and closes it. The common name is that of the peer's certificate,
// or "". An error says that the peer broke the protocol, or that the connection failed; a peer that has just
// left, an idle connection and one that was shut down return nil.
func (s *Server) Serve(nc net.Conn, commonName string) error {
	c := newConn(nc, commonName, &s.opts)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		nc.Close()
		return ErrShutdown
	}
	s.conns[c] = struct{}{}
	s.mu.Unlock()

	defer s.remove(c)
	return c.serve()
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.checkEnded()
}

// checkEnded requires that mu is held.
func (s *Server) checkEnded() {
	if s.closed && len(s.conns) == 0 && !s.ended {
		s.ended = true
		close(s.empty)
	}
}

// Shutdown announces the end on all connections, and returns when their streams are finished. When ctx is
// done it closes the connections that are left and returns the context's error without waiting for their
// decisions. It may be called again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.checkEnded()
	s.mu.Unlock()

	for _, c := range conns {
		go c.drain() // it may wait for a peer that does not read
	}
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		for _, c := range conns {
			c.nc.Close()
		}
		return ctx.Err()
	}
}
