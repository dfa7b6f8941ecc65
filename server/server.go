package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/persist/disk"
)

// Options are what a Server is made of.
type Options struct {
	Config *config.Config // nil: the defaults
	Log    *log.Logger    // nil: nothing is logged

	// FreePort takes any free TCP port, whatever the directive port says, and sets
	// the directive to it; Addr tells which. It is for Listen.
	FreePort bool

	// Clock is the server's time; nil: the system's.
	Clock *clock.Clock

	// Disk is the directory of the snapshot and the append-only log; nil: nothing
	// outlives the server, and directives that ask for it are refused.
	Disk disk.FS

	// Chdir returns the directory that CONFIG SET dir names; nil refuses to change
	// it. engine.Directory is such a function.
	Chdir func(dir string) disk.FS

	// Engine is that of a server which has ended, to go on with its keys and its
	// clock; Config then has to be that server's too. Nil: a new one.
	Engine *engine.Engine

	// Still leaves out what a server does now and then of its own accord: the
	// clock does not follow a wall that is set, keys that are due stay until
	// they are touched or Engine.Reclaim is called, buffers stay with their
	// connections. A test then sees nothing happen that it did not do.
	Still bool

	// Intercept sees every command of a client before it runs, and may let it
	// end otherwise; nil: nobody does. See Interception.
	Intercept Intercept
}

// A Server answers clients on its listeners. Make one with Listen, or with New
// where the directives shall open none; let it work with Serve, end it with
// Close or by a client's SHUTDOWN. Do needs neither listener nor Serve. Every
// method may be called concurrently.
type Server struct {
	cfg       *config.Config
	log       *log.Logger
	engine    *engine.Engine
	intercept Intercept
	still     bool
	lastWords time.Duration // see the constant
	earlier   time.Duration // see earlierPatience
	owner     bool          // of engine

	mu        sync.Mutex         // taken last: whoever holds it waits for nothing else
	listeners []net.Listener     // protected by mu; those of bound among them
	bound     []bound            // protected by mu: those that bind and port ask for
	conns     map[*conn]struct{} // protected by mu
	serving   bool               // protected by mu: Serve was called
	closed    bool               // protected by mu: no connection is taken any more

	inside  *zlimit.Limiter // the same engine, without sockets
	ending  sync.Once       // the engine's end
	unfit   atomic.Bool     // what Disk holds cannot be loaded
	done    chan struct{}   // closed when the end begins
	working sync.WaitGroup
	limits  atomic.Pointer[connLimits]
}

// Listen opens the listeners that the configuration asks for, follows bind and
// port when they are set later, and starts the clock. maxclients is lowered to
// what the limit of open files allows. Nothing is answered before Serve, which
// loads what Disk holds.
func Listen(o Options) (*Server, error) {
	s := New(o)
	if s.owner {
		if err := s.engine.Open(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(s.reserveDescriptors(), s.listen(o.FreePort)); err != nil {
		return nil, errors.Join(err, s.engine.Close())
	}
	return s, nil
}

// New returns a server that listens nowhere yet: clients come through the
// listeners that Add gives it, and Do.
func New(o Options) *Server {
	if o.Config == nil {
		o.Config = config.New()
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	if o.Clock == nil {
		o.Clock = zlimit.SystemClock()
	}
	s := &Server{
		cfg: o.Config, log: o.Log, intercept: o.Intercept, still: o.Still,
		lastWords: lastWords, earlier: earlierPatience,
		conns: make(map[*conn]struct{}),
		done:  make(chan struct{}),
	}
	if s.engine = o.Engine; s.engine == nil {
		s.engine = engine.New(engine.Options{
			Config:   s.cfg,
			Clock:    o.Clock,
			Shutdown: func() { go func() { _ = s.Close() }() },
			Log:      func(text string) { s.log.Print(text) },
			Port:     s.Port,
			Disk:     o.Disk,
			After:    after,
			Chdir:    o.Chdir,
			Delay:    func(us int64) { time.Sleep(time.Duration(us) * time.Microsecond) }, //nolint:forbidigo // that is its purpose
			Pause:    func() { time.Sleep(time.Millisecond) },                             //nolint:forbidigo // a pace, nothing is waited for
		})
		s.owner = true
	}
	s.inside = zlimit.Over(s.engine)
	s.followLimits()
	return s
}

// after is engine.Options.After.
func after(ms int64, fn func()) (stop func()) {
	t := time.AfterFunc(time.Duration(min(ms, int64(maxPatience/time.Millisecond)))*time.Millisecond, fn)
	return func() { t.Stop() }
}

// Add takes connections from one more listener, which may be of any kind: see
// package pipe for one without sockets. The server closes it when it ends; an
// ended server closes it at once and returns net.ErrClosed.
func (s *Server) Add(l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.Close()
		return net.ErrClosed
	}
	s.add(l)
	return nil
}

// add requires mu to be held.
func (s *Server) add(l net.Listener) {
	s.listeners = append(s.listeners, l)
	if s.serving {
		s.working.Go(func() { s.accept(l) })
	}
}

// Connections returns how many clients are connected now.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Limiter is what the program that runs the server calls it with, past all
// sockets: the keys are the clients'. It ends with the server.
func (s *Server) Limiter() *zlimit.Limiter { return s.inside }

// Do runs one command past all sockets; see zlimit.Limiter.Do.
func (s *Server) Do(ctx context.Context, args ...any) (any, error) { return s.inside.Do(ctx, args...) }

// Engine returns the engine behind the sockets.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Addr returns the address of the first TCP listener, or of the first of any
// other kind where there is none; nil where there is no listener.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return a
		}
	}
	if len(s.listeners) == 0 {
		return nil
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

// Unfit reports whether the server ends because it could not load what its
// directory holds; Serve returns why.
func (s *Server) Unfit() bool { return s.unfit.Load() }

// Ending returns a channel that is closed when the end begins, be it by Close
// or by a client's SHUTDOWN.
func (s *Server) Ending() <-chan struct{} { return s.done }

// Serve takes connections until Close or SHUTDOWN, and returns when the last
// one has ended. It may be called once. Clients are answered LOADING until what
// Disk holds is loaded; where that fails, the server ends and Serve returns why.
func (s *Server) Serve() error {
	s.mu.Lock()
	s.serving = true
	var failed error
	if !s.closed {
		// Nobody hears LOADING where there is nothing to load.
		open := make(chan struct{})
		begun := sync.OnceFunc(func() { close(open) })
		s.working.Go(func() {
			defer begun()
			if !s.owner {
				return
			}
			if failed = s.engine.Load(begun); failed != nil {
				s.unfit.Store(true)
				go func() { _ = s.Close() }()
			}
		})
		for _, l := range s.listeners {
			s.working.Go(func() {
				<-open
				s.accept(l)
			})
		}
		if !s.still {
			s.working.Go(s.cron)
		}
	}
	s.mu.Unlock()
	<-s.done
	s.working.Wait()
	return failed
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
		if s.ended() || errors.Is(err, net.ErrClosed) {
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

// take starts serving a connection, or turns it away.
func (s *Server) take(nc net.Conn) {
	if refusesStranger(nc.RemoteAddr(), s.cfg.Bool("protected-mode"), s.cfg.String("requirepass")) {
		s.turnAway(nc, deniedError)
		return
	}
	c := newConn(s, nc)
	places := s.cfg.Int("maxclients")
	s.mu.Lock()
	full := int64(len(s.conns)) >= places
	closed := s.closed
	if !full && !closed {
		s.conns[c] = struct{}{}
		s.working.Add(1)
	}
	s.mu.Unlock()
	switch {
	case closed:
		nc.Close()
	case full:
		s.turnAway(nc, maxClientsError)
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

// turnAway tells a client why it is not served. It does not wait for anything,
// so that a flood of such clients keeps nobody else from being taken.
func (s *Server) turnAway(nc net.Conn, why string) {
	s.engine.CountRejected()
	out := output{nc: nc, socket: newSocket(nc)}
	// An empty socket buffer takes a line at once; what is no socket may have to wait.
	if n, err := out.writeNow([]byte(why)); n == 0 && err == nil {
		nc.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(nc, why)
	}
	if out.socket != nil {
		// Closing with input unread would be a reset, and the client may never
		// see the line.
		_, _ = out.socket.readSome(make([]byte, minBuffer))
	}
	nc.Close()
}

// cron does what has to be done now and then: the clock follows the wall, due
// keys are reclaimed, idle connections give memory back.
func (s *Server) cron() {
	interval := func() time.Duration { return time.Second / time.Duration(max(s.cfg.Int("hz"), 1)) }
	tick := time.NewTicker(interval())
	defer tick.Stop()
	s.cfg.OnChange("hz", func() { tick.Reset(interval()) })
	trim := time.NewTicker(trimInterval)
	defer trim.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
			s.engine.Tick()
		case <-trim.C:
			s.trimIdle()
		}
	}
}

const (
	// trimInterval is how long a connection must be silent, at least, before
	// its buffers are taken from it, as in Redis.
	trimInterval = 2 * time.Second
	// trimmed is what is not worth taking.
	trimmed = 16 << 10
)

// trimIdle takes the large buffers of connections that have done nothing since
// its last call: a thousand clients that once sent a long pipeline would
// otherwise keep 200 MB. One goroutine calls it.
func (s *Server) trimIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		batches := c.batches.Load()
		if batches == c.seen && c.held.Load() > trimmed {
			c.trim.Store(true)
			c.wake()
		}
		c.seen = batches
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
// called more than once and concurrently, and returns when everything has
// ended: a client that takes nothing of its replies delays it by some seconds, a
// command that does not end for ever.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		if s.owner {
			s.engine.End()
		}
		for _, l := range s.listeners {
			l.Close()
		}
		for c := range s.conns {
			c.finish()
		}
	}
	s.mu.Unlock()
	s.working.Wait()
	err := s.inside.Close()
	if s.owner {
		s.ending.Do(func() { err = errors.Join(err, s.engine.Close()) })
	}
	return err
}

// CloseWithin is Close with an end: when ctx is done the connections are cut
// and its error is returned, whether or not commands still run.
func (s *Server) CloseWithin(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		_ = s.Close()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.out.cut()
	}
	return ctx.Err()
}

// Greeting is the line that tells where the server listens and what to type
// next.
func (s *Server) Greeting() string {
	s.mu.Lock()
	where := make([]string, len(s.listeners))
	for i, l := range s.listeners {
		where[i] = l.Addr().String()
	}
	s.mu.Unlock()
	cli := "redis-cli"
	switch a := s.Addr().(type) {
	case *net.TCPAddr:
		if !a.IP.IsLoopback() && !a.IP.IsUnspecified() {
			cli += " -h " + a.IP.String()
		}
		if a.Port != 6379 {
			cli += " -p " + strconv.Itoa(a.Port)
		}
	case *net.UnixAddr:
		cli += " -s " + a.Name
	}
	if s.cfg.String("requirepass") != "" {
		cli += " --askpass"
	}
	return fmt.Sprintf("zlimit %s listens on %s; try: %s RL.ALLOW user:42 100 1m", engine.Version, strings.Join(where, ", "), cli)
}
