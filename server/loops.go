package server

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/server/poll"
)

// loops are the loops of a server. They are made when the first connection of their kind comes.
type loops struct {
	server  *Server
	watch   watchdog
	running sync.WaitGroup // goroutines that hold a loop, or were robbed of one
	ended   sync.Once

	mu      sync.Mutex
	sockets []*loop // protected by mu, as are the fields below
	others  []*loop // of connections that the system's poller does not know
	closed  bool
}

// pick returns the loop with the fewest connections for one more. It is nil if there is none.
func (s *loops) pick(isSocket bool) *loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isSocket {
		return s.least(&s.sockets, newSocketPoller)
	}
	return s.least(&s.others, func() (poll.Poller, error) { return poll.NewMemory(), nil })
}

// least returns the loop of a kind with the fewest connections, counted with one more. It makes the loops if
// there are none yet, and returns nil if that fails, or the loops are closed. It requires mu.
func (s *loops) least(kind *[]*loop, open func() (poll.Poller, error)) *loop {
	if s.closed {
		return nil
	}
	if len(*kind) == 0 {
		*kind = s.open(open)
	}
	var least *loop
	for _, l := range *kind {
		if least == nil || l.clients.Load() < least.clients.Load() {
			least = l
		}
	}
	if least != nil {
		least.clients.Add(1)
	}
	return least
}

// number returns how many loops there are of each kind.
func (s *loops) number() int {
	if n := int(s.server.cfg.Int("io-loops")); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// open makes loops, as many as the system lets it. It requires mu.
func (s *loops) open(open func() (poll.Poller, error)) (made []*loop) {
	for range s.number() {
		p, err := open()
		if err != nil {
			s.server.log.Warn("a loop cannot be made", "error", err)
			break
		}
		l := newLoop(s.server, p)
		made = append(made, l)
		s.running.Add(1)
		go l.run()
	}
	s.watch.start(s)
	return made
}

// all returns the loops that there are.
func (s *loops) all() []*loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.sockets, s.others)
}

// close ends the loops. They must have no connections. It may be called again.
func (s *loops) close() { s.ended.Do(s.end) }

func (s *loops) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, l := range s.all() {
		l.close()
	}
	s.running.Wait()
	s.watch.close()
}

// turn returns once every loop of sockets has served what had arrived.
func (s *loops) turn() {
	s.mu.Lock()
	sockets := s.sockets
	s.mu.Unlock()
	if len(sockets) == 0 {
		runtime.Gosched()
	}
	for _, l := range sockets {
		<-l.turn()
	}
}

// longCall is how long a connection's commands run, or wait for a lock, until others go on without them.
const longCall = time.Millisecond

// A watchdog robs those of their loops whose connections run for long. It sleeps while nothing happens.
type watchdog struct {
	asleep atomic.Bool
	woken  chan struct{} // nil: it was not started
	done   sync.WaitGroup
}

// start starts it once. The caller must hold the mutex of s.
func (w *watchdog) start(s *loops) {
	if w.woken == nil {
		w.woken = make(chan struct{}, 1)
		w.done.Add(1)
		go w.run(s)
	}
}

// wake makes it look at the loops.
func (w *watchdog) wake() {
	if w.asleep.Load() && w.asleep.Swap(false) {
		w.woken <- struct{}{}
	}
}

func (w *watchdog) close() {
	if w.woken != nil {
		close(w.woken)
		w.done.Wait()
	}
}

func (w *watchdog) run(s *loops) {
	defer w.done.Done()
	tick := time.NewTicker(longCall)
	defer tick.Stop()
	seen := map[*loop]int64{}
	for {
		busy := false
		for _, l := range s.all() {
			turn := l.lease.turn.Load()
			if turn == seen[l] {
				l.lease.rob(turn)
			} else {
				busy = true
			}
			seen[l] = turn
		}
		if busy {
			<-tick.C
			continue
		}
		w.asleep.Store(true)
		if w.missed(s, seen) && w.asleep.Swap(false) {
			continue
		}
		tick.Stop()
		if _, ok := <-w.woken; !ok {
			return
		}
		tick.Reset(longCall)
	}
}

// missed reports whether a loop has gone on that may not have seen that the watchdog falls asleep.
func (w *watchdog) missed(s *loops, seen map[*loop]int64) bool {
	for _, l := range s.all() {
		if l.lease.turn.Load() != seen[l] {
			return true
		}
	}
	return false
}
