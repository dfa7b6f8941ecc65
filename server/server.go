package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
)

// Options are what a Server is made of.
type Options struct {
	Config *config.Config // nil: the defaults
	Log    *log.Logger    // nil: nothing is logged

	// FreePort takes any free TCP port, whatever the directive port says; Addr
	// tells which.
	FreePort bool
}

// A Server answers clients on its listeners. Make one with Listen, let it work
// with Serve, end it with Close or by a client's SHUTDOWN.
type Server struct {
	cfg       *config.Config
	log       *log.Logger
	engine    *engine.Engine
	listeners []net.Listener

	mu     sync.Mutex
	conns  map[*conn]struct{} // protected by mu
	closed bool               // protected by mu: no connection is taken any more

	done     chan struct{} // closed when the end begins
	working  sync.WaitGroup
	rejected atomic.Int64
	limits   atomic.Pointer[connLimits]
}

// Listen opens the listeners that the configuration asks for and starts the
// clock. Nothing is answered before Serve.
func Listen(o Options) (*Server, error) {
	if o.Config == nil {
		o.Config = config.New()
	}
	s := &Server{
		cfg: o.Config, log: o.Log,
		conns: make(map[*conn]struct{}),
		done:  make(chan struct{}),
	}
	if s.log == nil {
		s.log = log.New(discard{}, "", 0)
	}
	start := time.Now()
	s.engine = engine.New(engine.Options{
		Config: s.cfg,
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return time.Since(start).Microseconds() },
			Wall:      func() int64 { return time.Now().UnixMicro() },
		}),
		Shutdown:  func() { go s.Close() },
		Listeners: func() engine.ListenerInfo { return engine.ListenerInfo{Port: s.Port(), Rejected: s.rejected.Load()} },
	})
	s.followLimits()
	if err := s.listen(o.FreePort); err != nil {
		for _, l := range s.listeners {
			l.Close()
		}
		return nil, err
	}
	return s, nil
}

// discard is a log that nobody reads.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (s *Server) listen(freePort bool) error {
	port := s.cfg.Int("port")
	if freePort {
		port = 0
	}
	tcp := port != 0 || freePort || s.cfg.String("port-file") != ""
	if path := s.cfg.String("unixsocket"); path != "" {
		l, err := listenUnix(path, fs.FileMode(s.cfg.Int("unixsocketperm")))
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	} else if !tcp {
		return errors.New("nothing to listen on: port is 0, and neither port-file nor unixsocket is set")
	}
	if !tcp {
		return nil
	}
	for _, host := range s.cfg.Strings("bind") {
		optional := len(host) > 1 && host[0] == '-' // "-::1": skip where there is no such address
		if optional {
			host = host[1:]
		}
		if host == "*" {
			host = ""
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.FormatInt(port, 10)))
		if err != nil {
			if optional && !isInUse(err) {
				continue
			}
			return listenError(err, host, port)
		}
		s.listeners = append(s.listeners, l)
		// With --port 0 the system chooses once, and every address gets that port.
		port = int64(l.Addr().(*net.TCPAddr).Port)
	}
	if len(s.listeners) == 0 {
		return errors.New("nothing to listen on: no bind address is there")
	}
	return nil
}

// listenError is one clear line for what went wrong.
func listenError(err error, host string, port int64) error {
	if isInUse(err) {
		return fmt.Errorf("port %d is in use (%s): stop what listens there, or choose another with --port", port, net.JoinHostPort(host, strconv.FormatInt(port, 10)))
	}
	return fmt.Errorf("cannot listen on %s: %w", net.JoinHostPort(host, strconv.FormatInt(port, 10)), err)
}

// listenUnix opens a unix socket, in the place of one that a dead process left.
func listenUnix(path string, perm fs.FileMode) (net.Listener, error) {
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("unixsocket %s is in use", path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("cannot listen on unixsocket: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on unixsocket: %w", err)
	}
	if perm != 0 {
		if err := os.Chmod(path, perm); err != nil {
			l.Close()
			return nil, fmt.Errorf("cannot set unixsocketperm: %w", err)
		}
	}
	return l, nil
}

// Engine returns the engine behind the sockets.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Addr returns the address of the first TCP listener, or of the unix socket
// where there is none.
func (s *Server) Addr() net.Addr {
	for _, l := range s.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return a
		}
	}
	return s.listeners[0].Addr()
}

// Port returns the TCP port, 0 where there is none.
func (s *Server) Port() int {
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// Serve takes connections until Close or SHUTDOWN, and returns when the last
// one has ended.
func (s *Server) Serve() error {
	var accepting sync.WaitGroup
	for _, l := range s.listeners {
		accepting.Go(func() { s.accept(l) })
	}
	s.working.Go(s.cron)
	accepting.Wait()
	s.working.Wait()
	return nil
}

// accept takes connections from one listener.
func (s *Server) accept(l net.Listener) {
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.take(nc)
			continue
		}
		if s.ended() {
			return
		}
		// Out of file descriptors, most likely: it passes. Wait, and do not
		// spin.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.log.Printf("accept: %v; trying again in %v", err, pause)
		select {
		case <-s.done:
			return
		case <-time.After(pause):
		}
	}
}

// maxClientsError is what a connection over maxclients reads, as in Redis.
const maxClientsError = "-ERR max number of clients reached\r\n"

// take starts serving a connection, or turns it away.
func (s *Server) take(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	full := int64(len(s.conns)) >= s.cfg.Int("maxclients")
	if !full && !s.closed {
		s.conns[c] = struct{}{}
		s.working.Add(1)
	}
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed:
		nc.Close()
	case full:
		s.rejected.Add(1)
		nc.SetWriteDeadline(time.Now().Add(time.Second))
		nc.Write([]byte(maxClientsError))
		nc.Close()
	default:
		go func() {
			defer s.working.Done()
			c.serve()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
	}
}

// cron does what has to be done now and then: the clock follows the wall, due
// keys are reclaimed, idle clients are sent away.
func (s *Server) cron() {
	tick := time.NewTicker(time.Second / time.Duration(max(s.cfg.Int("hz"), 1)))
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
			s.engine.Tick()
		}
	}
}

func (s *Server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Close ends the server: no new connection is taken, every command whose bytes
// have arrived is finished and answered, then the connections close. It may be
// called more than once, and returns when everything has ended.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		for _, l := range s.listeners {
			l.Close()
		}
		for c := range s.conns {
			c.finish()
		}
	}
	s.mu.Unlock()
	s.working.Wait()
	return nil
}

// CloseWithin is Close that cuts the connections when ctx ends.
func (s *Server) CloseWithin(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.nc.Close()
		}
	})
	defer stop()
	return s.Close()
}

// Greeting is the line that tells where the server listens and what to type
// next.
func (s *Server) Greeting() string {
	where := s.Addr().String()
	cli := "redis-cli"
	switch a := s.Addr().(type) {
	case *net.TCPAddr:
		if a.Port != 6379 {
			cli += " -p " + strconv.Itoa(a.Port)
		}
	case *net.UnixAddr:
		cli += " -s " + a.Name
	}
	return fmt.Sprintf("zlimit %s listens on %s; try: %s RL.ALLOW user:42 100 1m", engine.Version, where, cli)
}
