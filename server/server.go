package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/faults"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/upstream"
)

// Options configures a Server.
type Options struct {
	Config *config.Config // nil: the defaults
	Log    *slog.Logger   // as far as loglevel admits; nil: nothing is logged

	// FreePort makes Listen choose any free TCP port, whatever the directive port
	// says, and set the directive to it. Addr returns it. The same holds for tls-port
	// unless it is 0; TLSAddr returns that.
	FreePort bool

	// Clock is the server's time. If it is nil, the system's is used.
	Clock *clock.Clock

	// Disk is the directory of the snapshot and the append-only log. If it is nil,
	// nothing is persisted, and directives that ask for it are refused.
	Disk disk.FS

	// Chdir returns the directory that CONFIG SET dir names, as engine.Directory
	// does. If it is nil, the directory cannot be changed.
	Chdir func(dir string) disk.FS

	// Engine is the engine of a server that has ended, to continue with its keys
	// and its clock. Config must then be that server's too. If it is nil, New makes
	// one.
	Engine *engine.Engine

	// NoCron turns off the periodic work: the clock does not follow a wall clock
	// that is set, expired keys stay until they are accessed or Engine.Reclaim is
	// called, and connections keep their buffers. Tests use it, so that nothing
	// happens which they did not do.
	NoCron bool

	// Intercept is called with every command of a client before it runs, and may
	// change its outcome. It may be nil.
	Intercept Intercept
}

// A Server serves clients on its listeners. Listen and New make one, Serve runs it,
// and Close or a client's SHUTDOWN ends it. Do needs neither a listener nor Serve.
// All methods may be called concurrently.
type Server struct {
	cfg        *config.View
	log        *slog.Logger // Options.Log, limited by loglevel
	engine     *engine.Engine
	own        *ownEngine // nil: the engine was passed in Options
	doors      []*door
	intercepts interceptors
	noCron     bool
	timeouts   timeouts
	tls        tlsConfigs

	mu        sync.Mutex         // the innermost lock: its holder acquires no other and does not block
	listeners []listener         // protected by mu
	conns     map[*conn]struct{} // protected by mu
	serving   bool               // protected by mu: Serve was called
	done      chan struct{}      // closed when shutdown begins, under mu: no more connections are accepted

	limiter *zlimit.Limiter // the same engine, without the network
	loading loading
	loops   loops
	wg      sync.WaitGroup // connections, accept loops, cron and loading
	limits  atomic.Pointer[connLimits]
}

// interceptors may change the outcome of commands.
type interceptors struct {
	program Intercept   // nil: none
	faults  *faults.Set // nil unless there may be any interception
}

// timeouts are those of connections; see the constants.
type timeouts struct{ linger, order time.Duration }

// An ownEngine is what ends with a server that has made its engine.
type ownEngine struct {
	engine   *engine.Engine
	upstream *upstream.Upstream // nil: there is none
	once     sync.Once
}

// close closes the engine and its upstream. Only the first call returns their errors.
func (o *ownEngine) close() (err error) {
	o.once.Do(func() {
		err = o.engine.Close()
		if o.upstream != nil {
			err = errors.Join(err, o.upstream.Close())
		}
	})
	return err
}

// Listen returns a server on the listeners that the configuration asks for. It
// follows later changes of bind, port, tls-port and the other directives of TLS, and
// lowers maxclients to what the limit
// of open files allows. Commands are answered once Serve is called, which loads the
// files of Disk.
func Listen(o Options) (*Server, error) {
	if o.Config != nil && o.Engine == nil {
		if _, _, err := upstreamOptions(o.Config); err != nil {
			return nil, err
		}
	}
	s := New(o)
	if err := s.start(o.FreePort); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start opens what Serve needs.
func (s *Server) start(freePort bool) error {
	if s.own != nil {
		if err := s.engine.LoadFiles(); err != nil {
			return err
		}
		if err := s.engine.Open(); err != nil {
			return err
		}
	}
	if err := s.reserveDescriptors(); err != nil {
		return err
	}
	return s.listen(freePort)
}

// New returns a server without listeners. Clients connect through listeners passed
// to Add, and the program that runs the server through Do.
//
// It panics if the directives of an upstream are wrong, which Listen returns as an error.
func New(o Options) *Server {
	if o.Config == nil {
		o.Config = config.New()
	}
	if o.Clock == nil {
		o.Clock = zlimit.SystemClock()
	}
	cfg := o.Config.View()
	s := &Server{
		cfg: cfg, log: engine.Logger(cfg, o.Log), intercepts: interceptors{program: o.Intercept},
		noCron: o.NoCron, timeouts: timeouts{linger: lingerTimeout, order: orderTimeout},
		tls:   tlsConfigs{timeout: handshakeTimeout},
		conns: make(map[*conn]struct{}),
		done:  make(chan struct{}), loading: loading{done: make(chan struct{})},
	}
	s.loops.server = s
	if s.engine = o.Engine; s.engine == nil {
		s.own = &ownEngine{}
		s.engine = engine.New(engine.Options{
			Upstream: s.openUpstream(),
			Config:   o.Config,
			Clock:    o.Clock,
			Shutdown: func() { go func() { _ = s.Close() }() },
			Log:      o.Log,
			Dial:     s.dialMaster,
			Disk:     o.Disk,
			After:    after,
			Chdir:    o.Chdir,
			Delay: func(us int64) {
				time.Sleep(time.Duration(us) * time.Microsecond) //nolint:forbidigo // a slow disk
			},
			Pause: func() {
				time.Sleep(time.Millisecond) //nolint:forbidigo // a yield, nothing is waited for
			},
			Turn:       s.loops.turn,
			FreeMemory: debug.FreeOSMemory,
		})
		s.own.engine = s.engine
	}
	s.engine.SetPort(s.Port)
	if o.Intercept != nil || s.cfg.String("enable-debug-command") != "no" {
		s.intercepts.faults = s.engine.Faults()
	}
	s.limiter = zlimit.Over(s.engine)
	s.followLimits()
	return s
}

// after is engine.Options.After.
func after(ms int64, fn func()) (stop func()) {
	t := time.AfterFunc(time.Duration(min(ms, int64(maxTimeout/time.Millisecond)))*time.Millisecond, fn)
	return func() { t.Stop() }
}

// Add serves connections of one more listener, which may be of any kind: package
// pipe has one in memory. The server closes it at shutdown. If the server is
// closed, Add closes l and returns net.ErrClosed.
func (s *Server) Add(l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosing() {
		l.Close()
		return net.ErrClosed
	}
	s.add(listener{Listener: l})
	return nil
}

// add adds a listener. It requires that mu is held.
func (s *Server) add(l listener) {
	s.listeners = append(s.listeners, l)
	if s.serving {
		s.wg.Go(func() { s.accept(l, s.admit) })
	}
}

// Connections returns the number of connected clients.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Limiter returns a limiter over the same keys, for the program that runs the
// server. It does not use the network, and is closed with the server.
func (s *Server) Limiter() *zlimit.Limiter { return s.limiter }

// Do runs one command without the network; see zlimit.Limiter.Do.
func (s *Server) Do(ctx context.Context, args ...any) (any, error) { return s.limiter.Do(ctx, args...) }

// Engine returns the server's engine.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Addr returns the address of the first TCP listener, or of the first listener of
// another kind if there is none, or nil if there is no listener.
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

// TLSAddr returns the address of the first listener for TLS, or nil if there is none.
func (s *Server) TLSAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		if l.addr.tls {
			return l.Addr()
		}
	}
	return nil
}

// Port returns the TCP port, the one for TLS if there is no other, or 0 if there is
// none.
func (s *Server) Port() int {
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// LoadFailed reports whether the server ends because the files of its directory
// could not be loaded. Serve returns the error.
func (s *Server) LoadFailed() bool { return s.loading.failed.Load() }

// Loaded returns a channel that is closed when Serve has loaded the files, so that
// clients no longer get LOADING.
func (s *Server) Loaded() <-chan struct{} { return s.loading.done }

// Ending returns a channel that is closed when shutdown begins, by Close or by a
// client's SHUTDOWN.
func (s *Server) Ending() <-chan struct{} { return s.done }

// Serve accepts connections until Close or SHUTDOWN, and returns when the last one
// has ended. It may be called once. Clients are answered LOADING until the files of
// Disk are loaded. If loading fails, the server shuts down and Serve returns the
// error.
func (s *Server) Serve() error {
	s.mu.Lock()
	s.serving = true
	var loadErr error
	if !s.isClosing() {
		// Connections are accepted as soon as loading takes time, or has ended: if
		// there is nothing to load, no client sees LOADING.
		ready := make(chan struct{})
		markReady := sync.OnceFunc(func() { close(ready) })
		s.wg.Go(func() {
			if loadErr = s.loading.load(s.own, markReady); loadErr != nil {
				go func() { _ = s.Close() }()
			}
		})
		for _, l := range s.listeners {
			s.wg.Go(func() {
				<-ready
				s.accept(l, s.admit)
			})
		}
		for _, d := range s.doors {
			s.wg.Go(func() {
				<-ready
				d.serve()
			})
		}
		if !s.noCron {
			s.wg.Go(s.cron)
		}
	}
	s.mu.Unlock()
	<-s.done
	s.wg.Wait()
	return loadErr
}

// accept calls admit with each connection, until the listener closes.
func (s *Server) accept(l net.Listener, admit func(net.Conn)) {
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			admit(nc)
			continue
		}
		if s.isClosing() || errors.Is(err, net.ErrClosed) {
			return
		}
		// Most likely out of file descriptors, which passes: retry with a delay.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.log.Warn("accepting a connection failed", "error", err, "retry", pause)
		select {
		case <-s.done:
			return
		case <-time.After(pause):
		}
	}
}

// admit starts serving a connection, or rejects it.
func (s *Server) admit(nc net.Conn) {
	over, overTLS := nc.(*tlsConn)
	remote, local := nc.RemoteAddr(), nc.LocalAddr()
	if !overTLS && s.isDenied(remote) { // over TLS, the handshake comes first
		s.reject(nc, deniedError)
		return
	}
	maxClients := s.cfg.Int("maxclients")
	s.mu.Lock()
	full := int64(len(s.conns)) >= maxClients
	s.mu.Unlock()
	switch {
	case full && overTLS:
		// As in Redis, nothing is sent: there was no handshake.
		s.engine.Stats().Refusals.Rejected.Add(1)
		nc.Close()
		return
	case full:
		s.reject(nc, maxClientsError)
		return
	}
	c, err := newConn(s, nc)
	if err != nil {
		nc.Close()
		if !s.isClosing() {
			s.log.Warn("serving a connection failed", "error", err)
		}
		return
	}
	s.mu.Lock()
	closed := s.isClosing()
	if !closed {
		s.conns[c] = struct{}{}
		s.wg.Add(1)
	}
	s.mu.Unlock()
	if closed {
		c.carrier.close()
		nc.Close()
		c.loop.clients.Add(-1)
		return
	}
	c.begin(remote, local)
	if !overTLS {
		c.add()
		return
	}
	go func() {
		shaken := false
		c.survives(func() { shaken = c.shakeHands(over) })
		if shaken {
			c.add()
			return
		}
		c.session.Close()
		c.carrier.close()
		_ = over.Close()
		s.forget(c)
	}()
}

// forget is called when a connection is gone.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.loop.clients.Add(-1)
	s.wg.Done()
}

// reject sends a client the reason why it is not served. A new socket's empty buffer takes a line without
// blocking, so that a flood of such clients does not delay others; other connections may have to wait.
func (s *Server) reject(nc net.Conn, reason string) {
	s.engine.Stats().Refusals.Rejected.Add(1)
	defer nc.Close()
	t, err := newTransport(nc)
	if err != nil {
		return
	}
	defer t.close()
	if _, isFed := t.(*fed); isFed {
		_ = nc.SetWriteDeadline(time.Now().Add(time.Second)) // if it fails, so does writing
		_, _ = io.WriteString(nc, reason)
		return
	}
	if n, _ := t.writeSome([]byte(reason)); n > 0 {
		// To close with input unread would be a reset, and the client might not see
		// the line.
		_, _, _ = t.readSome(make([]byte, minBuffer))
	}
}

// cron makes the clock follow the wall clock, reclaims expired keys, and releases
// memory of idle connections.
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
	// trimInterval is how long, at least, a connection must be silent before its
	// buffers are released, as in Redis.
	trimInterval = 2 * time.Second
	// minTrim is the size up to which buffers are not worth releasing.
	minTrim = 16 << 10
)

// trimIdle makes connections that were idle since its last call release large
// buffers. A thousand clients that each sent one long pipeline would otherwise keep
// 200 MB. Only cron calls it.
func (s *Server) trimIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.activity.isIdle() && c.activity.bytes.Load() > minTrim {
			c.signals.trim.Store(true)
			c.wake()
		}
	}
}

// isClosing reports whether shutdown has begun.
func (s *Server) isClosing() bool { return isClosed(s.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Close shuts the server down: it accepts no more connections, answers every
// command whose bytes have arrived, and then closes the connections. It may be
// called more than once and concurrently, and returns when everything has ended. A
// client that reads none of its replies delays it by some seconds, a command that
// does not return delays it forever.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.isClosing() {
		close(s.done)
		if s.own != nil {
			s.engine.End()
		}
		for _, l := range s.listeners {
			l.Close()
		}
		s.closeDoors()
		for c := range s.conns {
			c.shutDown()
		}
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.loops.close()
	err := s.limiter.Close()
	if s.own != nil {
		err = errors.Join(err, s.own.close())
	}
	s.cfg.End()
	return err
}

// CloseWithin is like Close, but when ctx is done it aborts the connections and
// returns the context's error, even if commands still run.
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
		c.abort()
	}
	return ctx.Err()
}

// Log returns the server's log: that of Options, limited by loglevel.
func (s *Server) Log() *slog.Logger { return s.log }

// Greeting returns a line that says where the server listens and what to type next.
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
		if t := s.TLSAddr(); t != nil && t.String() == a.String() {
			cli += " --tls"
		}
	case *net.UnixAddr:
		cli += " -s " + a.Name
	}
	if s.engine.NeedsPassword() {
		cli += " --askpass"
	}
	return fmt.Sprintf("zlimit %s listens on %s; try: %s RL.ALLOW user:42 100 1m",
		engine.Version, strings.Join(where, ", "), cli)
}
