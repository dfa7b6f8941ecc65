// Package zlimit is a rate limiter inside a Go program: the engine of zlimit-server without sockets.
//
//	limits := zlimit.New(zlimit.Options{})
//	defer limits.Close()
//	d, err := limits.Allow(ctx, "user:42", zlimit.Quota{Limit: 100, Window: time.Minute}, 1)
//
// Allow is RL.ALLOW: the exact sliding window, never more than Limit units in any Window, decided atomically.
// It does not allocate for an existing key. Do runs any other command of the server on the same keys, which
// can be read, expired, deleted, or used by a Lua script.
//
// Keys are in memory only, unless the Limiter is made by Open, which keeps files as the server does. Programs
// that share limits with other processes need zlimit-server, or package server, which adds sockets to this
// engine.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package zlimit

import (
	"errors"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
)

// Options configures a Limiter. The zero value is ready to use.
type Options struct {
	Config *config.Config // directives; nil: the defaults
	Clock  *clock.Clock   // time; nil: SystemClock
	Log    *slog.Logger   // log, as far as loglevel admits; nil: nothing
}

// A Limiter decides calls and stores their keys. Make one with New or Open. Its methods may be called
// concurrently.
type Limiter struct {
	engine *engine.Engine
	owner  bool            // closes engine
	pool   []pooledSession // length is a power of two
	recent sync.Pool       // of *pooledSession, last used by this processor

	mu       sync.Mutex // protects sessions, and closed when a session is added
	sessions map[*Session]struct{}

	closed atomic.Bool
	ending chan struct{} // closed when Close begins
	ended  chan struct{} // closed when Close has finished
	cron   sync.WaitGroup
}

// New returns a Limiter without keys. It has one goroutine, which Close stops.
func New(o Options) *Limiter {
	o.setDefaults()
	l := over(o, engine.Options{})
	l.tick(o.Config)
	return l
}

// Open is New for a Limiter whose keys are kept in the directory that the directive dir names, according to
// the directives appendonly, appendfsync and save (see docs/persistence.md). It returns after loading what is
// there. Only one process at a time may use a directory. Close must be called: it syncs, and saves if there
// are save points.
//
// Under appendfsync always a call returns when its changes are on disk, or with an error other than Error if
// they could not be written.
func Open(o Options) (*Limiter, error) {
	o.setDefaults()
	l := over(o, engine.Options{
		Disk: engine.Directory(o.Config.String("dir")),
		After: func(ms int64, fn func()) (stop func()) {
			t := time.AfterFunc(time.Duration(min(ms, maxWaitMs))*time.Millisecond, fn)
			return func() { t.Stop() }
		},
		Pause: func() { time.Sleep(time.Millisecond) }, //nolint:forbidigo // limits the pace of snapshots
	})
	l.owner = true
	err := l.engine.Open()
	if err == nil {
		l.tick(o.Config)
		err = l.engine.Load(func() {})
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (o *Options) setDefaults() {
	if o.Config == nil {
		o.Config = config.New()
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
}

// over makes an engine and a Limiter over it.
func over(o Options, e engine.Options) *Limiter {
	e.Config, e.Clock, e.Log = o.Config, o.Clock, o.Log
	return Over(engine.New(e))
}

// tick ticks the engine hz times a second until Close.
func (l *Limiter) tick(cfg *config.Config) {
	l.cron.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(max(cfg.Int("hz"), 1)))
		defer tick.Stop()
		for {
			select {
			case <-l.ending:
				return
			case <-tick.C:
				l.engine.Tick()
			}
		}
	})
}

// Over returns a Limiter over an engine that the caller ticks, such as a server's. Close does not close the
// engine.
func Over(e *engine.Engine) *Limiter {
	// With a few sessions for each processor, calls rarely compete for one.
	sessions := 1 << bits.Len(uint(4*runtime.GOMAXPROCS(0)-1))
	l := &Limiter{
		engine: e, pool: make([]pooledSession, sessions),
		sessions: make(map[*Session]struct{}),
		ending:   make(chan struct{}), ended: make(chan struct{}),
	}
	return l
}

// SystemClock returns a clock that shows the system's time and never goes back: see package clock.
func SystemClock() *clock.Clock {
	start := time.Now()
	return clock.New(clock.Sources{
		Monotonic: func() int64 { return time.Since(start).Microseconds() },
		Wall:      func() int64 { return time.Now().UnixMicro() },
	})
}

// Engine returns the engine, which gives access to its clock and its command table.
func (l *Limiter) Engine() *engine.Engine { return l.engine }

// Close stops the Limiter: calls in progress finish, calls that wait for a key (BLPOP) are canceled, and
// later ones return ErrClosed. Close returns when the last call has ended. It may be called more than once.
func (l *Limiter) Close() error {
	l.mu.Lock()
	if l.closed.Swap(true) {
		l.mu.Unlock()
		<-l.ended
		return nil
	}
	close(l.ending)
	sessions := l.sessions
	l.sessions = nil
	l.mu.Unlock()
	for s := range sessions {
		s.end()
	}
	for i := range l.pool {
		l.pool[i].close()
	}
	l.cron.Wait()
	defer close(l.ended)
	if l.owner {
		return l.engine.Close()
	}
	return nil
}

// acquire returns a locked session of the pool: the one that this processor used last, whose buffers may
// still be in its cache, or else any.
func (l *Limiter) acquire() *pooledSession {
	s, ok := l.recent.Get().(*pooledSession)
	if ok && s.mu.TryLock() {
		return s
	}
	mask := len(l.pool) - 1
	i := int(rand.Uint32()) & mask
	for range 3 {
		if s := &l.pool[i]; s.mu.TryLock() {
			return s
		}
		i = (i + 1) & mask
	}
	s = &l.pool[i]
	s.mu.Lock()
	return s
}

// release returns a session to the pool.
func (l *Limiter) release(s *pooledSession) {
	s.mu.Unlock()
	l.recent.Put(s)
}
