// Package zlimittest gives a test its own rate-limit server, in memory, with a clock
// and faults that the test controls.
//
//	func TestLimit(t *testing.T) {
//		srv := zlimittest.RunT(t)
//		client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
//		...
//		srv.Advance(time.Minute) // a window passes without sleeping
//	}
//
// # Time
//
// There is one clock for TTL, TIME, scripts and RL.*. It shows the system's time until
// Freeze, Advance or Set is called. A key is gone for every command as soon as the
// clock is past its deadline.
//
// Inside a bubble of testing/synctest the clock follows the bubble's: time.Sleep there
// advances the server, too. Clients must then connect through DialContext, since
// bubbles do not wait for sockets; see the example.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package zlimittest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/server/pipe"
)

// Options configures a Server. The zero value is the configuration of RunT.
type Options struct {
	// Directives are as on zlimit-server's command line: "--requirepass", "secret".
	// Those that open ports have no effect.
	Directives []string
	// Now is the clock's initial time. Zero means the system's time.
	Now time.Time
	// Frozen starts the clock frozen.
	Frozen bool
	// TLS, if not nil, makes the TCP address serve TLS. A certificate that a test can use
	// is in the field TLS of an httptest.Server. Connections in memory stay plain.
	TLS *tls.Config
	// Cluster makes the server a cluster of one node, which refuses what a cluster
	// refuses: a script with keys in two slots, for example. A cluster client connects to
	// Addr or, with a dialer of its own, in memory.
	Cluster bool
	// After is a closed server whose keys, clock, directives, TLS and cluster the new server takes
	// over. The fields above then have no effect.
	After *Server
}

// A Server is a zlimit-server inside a test. Its methods may be called concurrently.
type Server struct {
	t      testing.TB // nil after Start: failures panic
	id     string
	cfg    *config.Config
	tls    *tls.Config
	inner  *server.Server
	memory *pipe.Listener

	commands    atomic.Int64
	reclaimedMs atomic.Int64  // the instant of the last reclaim
	served      chan struct{} // closed when Serve has returned

	mu  sync.Mutex
	tcp net.Listener // protected by mu; nil until requested
}

// RunT starts a server for a test and closes it when the test ends. The test fails if
// the server leaves a goroutine behind.
func RunT(t testing.TB) *Server {
	t.Helper()
	return RunWith(t, Options{})
}

// RunWith is RunT with options.
func RunWith(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatalf("zlimittest: %v", err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("zlimittest: %v", err)
		}
	})
	return s
}

// lastID is the number of the newest server in this process.
var lastID atomic.Int64

// Start starts a server without a test. The caller must Close it. Errors concern the
// options.
func Start(o Options) (*Server, error) {
	s := &Server{
		id:     strconv.FormatInt(lastID.Add(1), 10),
		memory: pipe.Listen(), served: make(chan struct{}),
	}
	inner := server.Options{NoCron: true, Intercept: s.intercept}
	if o.After != nil {
		s.cfg, s.tls = o.After.cfg, o.After.tls
		inner.Engine = o.After.inner.Engine()
		inner.Engine.Faults().Clear()
	} else {
		s.cfg, s.tls = config.New(), o.TLS
		args := []string{"--enable-debug-command", "yes"}
		if o.Cluster {
			args = append(args, "--cluster-enabled", "yes", "--cluster-announce-ip", loopback)
		}
		if err := s.cfg.ParseArgs(append(args, o.Directives...), nil); err != nil {
			return nil, err
		}
		inner.Clock = zlimit.SystemClock()
		if err := o.start(inner.Clock); err != nil {
			return nil, err
		}
	}
	inner.Config = s.cfg
	s.inner = server.New(inner)
	if err := s.inner.Add(s.memory); err != nil {
		return nil, err
	}
	s.labelled(func() {
		_ = s.inner.Serve()
		close(s.served)
	})
	return s, nil
}

// start puts a clock to where the options have it begin. A frozen one is frozen first,
// so that no time passes between.
func (o *Options) start(c *clock.Clock) error {
	if o.Frozen {
		c.Freeze()
	}
	if o.Now.IsZero() {
		return nil
	}
	if err := c.Set(o.Now.UnixMilli()); err != nil {
		return fmt.Errorf("Now is %v: %w", o.Now, err)
	}
	return nil
}

// Close closes the server, as RunT's cleanup does. The error reports goroutines left
// behind.
func (s *Server) Close() error {
	err := s.inner.Close()
	<-s.served
	return errors.Join(err, s.leftovers())
}

// labelled runs fn in a goroutine labelled as this server's. Goroutines that it starts
// inherit the label.
func (s *Server) labelled(fn func()) {
	go func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, s.id)))
		fn()
	}()
}

// loopback is where servers listen, and what a node of a cluster announces.
const loopback = "127.0.0.1"

// Addr returns the server's TCP address, a free port of 127.0.0.1 that the first call
// opens.
func (s *Server) Addr() string {
	s.helper()()
	addr, err := s.Listen(loopback + ":0")
	if err != nil {
		s.fatal("%v", err)
	}
	return addr
}

// Listen makes the server listen on a TCP address, too, and returns it with the actual
// port. A server has one such address: a second call returns the first one's.
func (s *Server) Listen(addr string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp == nil {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return "", err
		}
		if s.tls != nil {
			l = tls.NewListener(l, s.tls)
		}
		added := make(chan error)
		s.labelled(func() { added <- s.inner.Add(l) })
		if err := <-added; err != nil {
			return "", fmt.Errorf("the server is closed: %w", err)
		}
		s.tcp = l
	}
	return s.tcp.Addr().String(), nil
}

// Dial opens a connection in memory.
func (s *Server) Dial() (net.Conn, error) { return s.memory.Dial(context.Background()) }

// DialContext is Dial with the signature that clients need: go-redis' Dialer, or
// redigo's DialContextFunc. It ignores network and address.
func (s *Server) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return s.memory.Dial(ctx)
}

// Commands returns how many commands clients have sent, including those that faults
// affected.
func (s *Server) Commands() int64 { return s.commands.Load() }

// Inner returns the underlying server.
func (s *Server) Inner() *server.Server { return s.inner }

// Do runs a command without connections or faults, and fails the test if the reply is
// an error. See zlimit.Session.Do for arguments and reply.
func (s *Server) Do(args ...any) any {
	s.helper()()
	reply, err := s.TryDo(args...)
	if err != nil {
		s.fatal("%v: %v", args, err)
	}
	return reply
}

// TryDo is like Do but returns the error.
func (s *Server) TryDo(args ...any) (any, error) {
	s.reclaim()
	return s.inner.Do(context.Background(), args...)
}

// Allow runs RL.ALLOW without connections or faults.
func (s *Server) Allow(key string, q zlimit.Quota, cost int64) zlimit.Decision {
	s.helper()()
	d, err := s.inner.Limiter().Allow(context.Background(), key, q, cost)
	if err != nil {
		s.fatal("RL.ALLOW %s: %v", key, err)
	}
	return d
}

// helper returns the test's Helper, so that failures point at the caller, not this
// file.
func (s *Server) helper() func() {
	if s.t == nil {
		return func() {}
	}
	return s.t.Helper
}

// fatal fails the test, or panics without one.
func (s *Server) fatal(format string, args ...any) {
	text := "zlimittest: " + fmt.Sprintf(format, args...)
	if s.t == nil {
		panic(text)
	}
	s.t.Helper()
	s.t.Fatal(text)
}
