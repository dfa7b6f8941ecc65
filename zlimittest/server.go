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
	// Addr is where Addr listens: "127.0.0.1:7000". Empty: a free port of
	// 127.0.0.1.
	Addr string
}

// A Server is a zlimit-server inside of a test. Its methods may be called
// concurrently.
type Server struct {
	t      testing.TB // nil after Start: what would end the test panics
	id     string
	inner  *server.Server
	memory *pipe.Listener
	faults faults
	served chan struct{} // closed when Serve has returned

	mu     sync.Mutex
	listen string       // protected by mu, as is what follows: where Addr will listen
	tcp    net.Listener // nil until Addr is asked for
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
	cfg := config.New()
	if err := cfg.ParseArgs(append([]string{"--enable-debug-command", "yes"}, o.Directives...), nil); err != nil {
		return nil, err
	}
	s := &Server{
		id:     strconv.FormatInt(lastID.Add(1), 10),
		memory: pipe.Listen(), served: make(chan struct{}), listen: o.Addr,
	}
	clock := zlimit.SystemClock()
	if !o.Now.IsZero() {
		clock.Set(o.Now.UnixMilli())
	}
	if o.Frozen {
		clock.Freeze()
	}
	s.inner = server.New(server.Options{Config: cfg, Clock: clock, Still: true, Intercept: s.intercept})
	if err := s.inner.Add(s.memory); err != nil {
		return nil, err
	}
	s.labelled(func() {
		_ = s.inner.Serve()
		close(s.served)
	})
	return s, nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp == nil {
		addr := s.listen
		if addr == "" {
			addr = "127.0.0.1:0"
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			s.fatal("cannot listen: %v", err)
		}
		added := make(chan error)
		s.labelled(func() { added <- s.inner.Add(l) })
		if err := <-added; err != nil {
			s.fatal("Addr of a server that is closed")
		}
		s.tcp = l
	}
	return s.tcp.Addr().String()
}

// Dial opens a connection in memory.
func (s *Server) Dial() (net.Conn, error) { return s.memory.Dial(context.Background()) }

// DialContext is Dial in the form that clients take: it goes in the place of
// go-redis' Dialer, or into redigo's DialContextFunc. Network and address are
// not looked at.
func (s *Server) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return s.memory.Dial(ctx)
}

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
