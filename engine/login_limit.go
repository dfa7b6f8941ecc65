package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// loginLimit slows the logins of an address from which many have failed, by the generic
// cell rate algorithm: a few may fail at once, then one attempt is admitted every
// loginIntervalUs. An attempt counts before its password is compared, and is given back
// if that is right; otherwise attempts on many connections at once would all be
// compared. One that comes too early waits, as under CLIENT PAUSE, or is refused without
// a comparison if it would wait too long. Other addresses wait for nothing.
//
// Time is real time, even if the server's clock is held.
type loginLimit struct {
	intervalUs atomic.Int64 // between admitted attempts; 0: there is no limit

	mu sync.Mutex
	// arrival is when the next attempt of a Peer.Network is due, on Clock.MonotonicUs. It is
	// protected by mu.
	arrival map[string]int64
}

const (
	loginBurst       = 10
	loginMaxWaitUs   = 5_000_000
	loginMaxNetworks = 10_000 // beyond that, those with the fewest failures are forgotten
)

// follow sets how many attempts are admitted in a second.
func (l *loginLimit) follow(perSecond int64) {
	intervalUs := int64(0)
	if perSecond > 0 {
		intervalUs = 1_000_000 / perSecond
	}
	l.intervalUs.Store(intervalUs)
}

// postpones reports whether a command that logs in has to wait. If it has, the session is
// blocked until its turn.
func (l *loginLimit) postpones(s *Session, cmd *commands.Command, args [][]byte) bool {
	after := s.engine.options.After
	if !cmd.Is(commands.LogsIn) || after == nil || s.resuming || s.tx.open || !givesPassword(args) {
		return false
	}
	waitUs := l.reserve(s, loginMaxWaitUs)
	if s.admitted = waitUs <= loginMaxWaitUs; waitUs <= 0 || !s.admitted {
		return false
	}
	b := s.postpone(&postponedCommand{args: cloneArgs(args)})
	after((waitUs+999)/1000, func() {
		if b.waiter.Claim() {
			b.postponed.released = true
			b.end(resp.None)
		}
	})
	return true
}

// givesPassword reports whether a command that may log in does so: AUTH, or HELLO with
// the option.
func givesPassword(args [][]byte) bool {
	return slices.ContainsFunc(args, func(arg []byte) bool { return commands.EqualFold(arg, "auth") })
}

// admits reports whether a login may compare the password now.
func (l *loginLimit) admits(s *Session) bool {
	if s.admitted {
		s.admitted = false
		return true
	}
	return l.reserve(s, 0) <= 0
}

// reserve counts an attempt and returns after how many microseconds it may be made. If
// that is more than mostUs, the attempt does not count.
func (l *loginLimit) reserve(s *Session, mostUs int64) (waitUs int64) {
	intervalUs := l.intervalUs.Load()
	if intervalUs == 0 {
		return 0
	}
	network, nowUs := s.peer.Network, s.engine.clock.MonotonicUs()
	l.mu.Lock()
	defer l.mu.Unlock()
	due := max(l.arrival[network], nowUs)
	if waitUs = due - (loginBurst-1)*intervalUs - nowUs; waitUs <= mostUs {
		l.set(network, due+intervalUs, nowUs)
	}
	return waitUs
}

// succeeded gives the attempt of a login back.
func (l *loginLimit) succeeded(s *Session) {
	network, nowUs := s.peer.Network, s.engine.clock.MonotonicUs()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(network, l.arrival[network]-l.intervalUs.Load(), nowUs)
}

// failed logs that an address is slowed from now on.
func (l *loginLimit) failed(s *Session) {
	network, nowUs, intervalUs := s.peer.Network, s.engine.clock.MonotonicUs(), l.intervalUs.Load()
	l.mu.Lock()
	waitUs := l.arrival[network] - (loginBurst-1)*intervalUs - nowUs
	l.mu.Unlock()
	if 0 < waitUs && waitUs <= intervalUs {
		s.engine.log.Warn("many logins from an address fail: further ones are slowed", "addr", s.peer.Addr)
	}
}

// set sets when the next attempt of a network is due. It requires mu.
func (l *loginLimit) set(network string, dueUs, nowUs int64) {
	if dueUs <= nowUs {
		delete(l.arrival, network)
		return
	}
	if l.arrival == nil {
		l.arrival = make(map[string]int64)
	}
	l.arrival[network] = dueUs
	if len(l.arrival) > loginMaxNetworks {
		l.forget(nowUs)
	}
}

// forget removes the networks whose attempts are not slowed, or else a half of all,
// those with the fewest failures first. It requires mu.
func (l *loginLimit) forget(nowUs int64) {
	dues := make([]int64, 0, len(l.arrival))
	for _, due := range l.arrival {
		dues = append(dues, due)
	}
	slices.Sort(dues)
	limit := max(dues[len(dues)/2], nowUs)
	for network, due := range l.arrival {
		if due <= limit {
			delete(l.arrival, network)
		}
	}
}
