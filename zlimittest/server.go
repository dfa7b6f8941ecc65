// Package zlimittest gives a test a rate-limit server of its own: in memory,
// with a clock that the test moves and faults that it plants.
//
//	func TestLimit(t *testing.T) {
//		srv := zlimittest.RunT(t)
//		client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
//		...
//		srv.Advance(time.Minute) // a window passes; nobody sleeps
//	}
//
// # Time
//
// There is one clock, and TTL, TIME, scripts and RL.* follow it. It shows the
// system's time until Freeze, Advance or Set take it over. A key is gone, for
// every command, as soon as the clock is past its deadline.
//
// Inside a bubble of testing/synctest the clock follows the bubble's: a
// time.Sleep there passes on the server too. Clients then have to come through
// DialContext, since Go's bubbles do not wait for sockets; see the example.
package zlimittest

import (
	"context"
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

// Options are what a Server is made of. The zero value is what RunT takes.
type Options struct {
	// Directives stand as on zlimit-server's command line: "--requirepass",
	// "secret". Those that open ports are without effect.
	Directives []string
	// Now is what the clock shows at first; it goes on from there. Zero: the
	// system's time.
	Now time.Time
	// Frozen makes the clock stand still from the start.
	Frozen bool
	// After is a server that was closed: this one goes on with its keys, its
	// clock and its directives, and the fields above are without effect.
	After *Server
}

// A Server is a zlimit-server inside of a test. Its methods may be called
// concurrently.
type Server struct {
	t      testing.TB // nil after Start: what would end the test panics
	id     string
	cfg    *config.Config
	inner  *server.Server
	memory *pipe.Listener
	faults faults

	commands atomic.Int64
	served   chan struct{} // closed when Serve has returned

	mu  sync.Mutex
	tcp net.Listener // protected by mu; nil until it is asked for
}

// RunT starts a server for one test. When the test ends, so does the server, and
// the test fails if the server left a goroutine behind.
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

// lastID numbers the servers of this process.
var lastID atomic.Int64

// Start starts a server that its caller closes, where there is no test to do it.
// The error is about the options.
func Start(o Options) (*Server, error) {
	s := &Server{
		id:     strconv.FormatInt(lastID.Add(1), 10),
		memory: pipe.Listen(), served: make(chan struct{}),
	}
	inner := server.Options{Still: true, Intercept: s.intercept}
	if o.After != nil {
		s.cfg = o.After.cfg
		inner.Engine = o.After.inner.Engine()
	} else {
		s.cfg = config.New()
		if err := s.cfg.ParseArgs(append([]string{"--enable-debug-command", "yes"}, o.Directives...), nil); err != nil {
			return nil, err
		}
		var err error
		if inner.Clock, err = o.clock(); err != nil {
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

// clock is what the options ask for.
func (o *Options) clock() (*clock.Clock, error) {
	c := zlimit.SystemClock()
	if !o.Now.IsZero() {
		if err := c.Set(o.Now.UnixMilli()); err != nil {
			return nil, fmt.Errorf("Now is %v: %w", o.Now, err)
		}
	}
	if o.Frozen {
		c.Freeze()
	}
	return c, nil
}

// Close ends the server, as RunT's cleanup does. The error is about goroutines
// that it left.
func (s *Server) Close() error {
	err := s.inner.Close()
	<-s.served
	return errors.Join(err, s.leftovers())
}

// labelled runs fn in a goroutine that is known as this server's, with those
// that it starts.
func (s *Server) labelled(fn func()) {
	go func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, s.id)))
		fn()
	}()
}

// Addr returns a TCP address at which the server answers: a free port of
// 127.0.0.1, which the first call opens.
func (s *Server) Addr() string {
	s.helper()()
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		s.fatal("%v", err)
	}
	return addr
}

// Listen makes the server answer at a TCP address too, and returns it with the
// port that the system chose for port 0. A server has one such address: a second
// call returns the first one's.
func (s *Server) Listen(addr string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp == nil {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return "", err
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

// DialContext is Dial in the form that clients take: it goes in the place of
// go-redis' Dialer, or into redigo's DialContextFunc. Network and address are
// not looked at.
func (s *Server) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return s.memory.Dial(ctx)
}

// Commands is how many commands clients have sent, those that a fault met
// included.
func (s *Server) Commands() int64 { return s.commands.Load() }

// Inner is the server itself, for what this package has no word for.
func (s *Server) Inner() *server.Server { return s.inner }

// Do runs a command past all connections and faults, and ends the test if the
// reply is an error. See zlimit.Session.Do for arguments and reply.
func (s *Server) Do(args ...any) any {
	s.helper()()
	reply, err := s.TryDo(args...)
	if err != nil {
		s.fatal("%v: %v", args, err)
	}
	return reply
}

// TryDo is Do that returns the error.
func (s *Server) TryDo(args ...any) (any, error) {
	s.inner.Engine().Reclaim()
	return s.inner.Do(context.Background(), args...)
}

// Allow is RL.ALLOW past all connections and faults.
func (s *Server) Allow(key string, q zlimit.Quota, cost int64) zlimit.Decision {
	s.helper()()
	d, err := s.inner.Limiter().Allow(key, q, cost)
	if err != nil {
		s.fatal("RL.ALLOW %s: %v", key, err)
	}
	return d
}

// helper returns the test's Helper, so that its caller, not this file, is what
// a failure points at.
func (s *Server) helper() func() {
	if s.t == nil {
		return func() {}
	}
	return s.t.Helper
}

// fatal ends the test, or panics where there is none.
func (s *Server) fatal(format string, args ...any) {
	text := "zlimittest: " + fmt.Sprintf(format, args...)
	if s.t == nil {
		panic(text)
	}
	s.t.Helper()
	s.t.Fatal(text)
}
