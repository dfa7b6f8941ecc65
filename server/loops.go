package server

import (
	"runtime"
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

// pick returns the loop with the fewest connections for one of the given kind. It is nil if they are closed.
func (s *loops) pick(isSocket bool) *loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	kind := &s.others
	if isSocket {
		kind = &s.sockets
	}
	if len(*kind) == 0 {
		s.open(kind, isSocket)
	}
	best := (*kind)[0]
	for _, l := range *kind {
		if l.clients.Load() < best.clients.Load() {
			best = l
		}
	}
	best.clients.Add(1)
	return best
}

// number returns how many loops there are of each kind.
func (s *loops) number() int {
	if n := int(s.server.cfg.Int("io-loops")); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// open makes the loops of a kind. It requires mu.
func (s *loops) open(kind *[]*loop, isSocket bool) {
	for range s.number() {
		var p poll.Poller = poll.NewMemory()
		if isSocket {
			own, err := newSocketPoller()
			if err != nil {
				s.server.log.Warn("a loop cannot be made", "error", err)
				break
			}
			p = own
		}
		l := &loop{server: s.server, poller: p}
		l.lease.loop = l
		l.lease.turn.Store(2) // a ticket of 0 is nobody's
		*kind = append(*kind, l)
		s.running.Add(1)
		go l.run()
	}
	s.watch.start(s)
}

// all returns the loops that there are.
func (s *loops) all() []*loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append([]*loop(nil), s.sockets...), s.others...)
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
