//go:build unix

package server

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// An order shows other connections how far this one has come with its input, by the
// instants at which the input reached the system: the kernel's packet timestamps,
// in nanoseconds. See docs/adr/0027.
type order struct {
	current    atomic.Int64 // when the input that runs now arrived; orderIdle, orderReading
	hasWaiters atomic.Bool  // a goroutine waits for the next change

	mu      sync.Mutex
	changed chan struct{} // protected by mu: closed at the next change; nil: no waiter
}

const (
	orderIdle    = 0  // nothing runs, or its arrival is unknown
	orderReading = -1 // a read is in progress; its result is set at once
)

// set changes current. Only the connection's goroutine may call it.
func (o *order) set(arrived int64) {
	o.current.Store(arrived)
	if o.hasWaiters.Load() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.hasWaiters.Store(false)
		close(o.changed)
		o.changed = nil
	}
}

// change returns a channel that is closed at the next change of current.
func (o *order) change() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
		o.hasWaiters.Store(true)
	}
	return o.changed
}

// arrived returns when the input that runs now reached the system, or 0 if that is
// unknown. Only the connection's goroutine may call it.
func (s *socket) arrived() int64 {
	if s == nil {
		return 0
	}
	return max(s.order.current.Load(), 0)
}

// awaitEarlier blocks until the connection has run everything that reached it
// before an instant, as far as that is known, but at most for patience. It reports
// whether it has. Any goroutine that holds no lock may call it. There is no
// deadlock: each waits only for what is earlier than its own input.
func (s *socket) awaitEarlier(before int64, patience time.Duration) bool {
	if s == nil || before == 0 || !s.hasEarlier(before) {
		return true
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		change := s.order.change()
		if !s.hasEarlier(before) {
			return true
		}
		select {
		case <-change:
		case <-timeout.C:
			return false
		}
	}
}

// hasEarlier reports whether the connection runs, or has not yet read, input that
// arrived before an instant. It checks the unread input first: whatever is read
// meanwhile is then seen as running, or has run.
func (s *socket) hasEarlier(before int64) bool {
	earlier := false
	if s.raw.Control(func(fd uintptr) {
		at := unreadSince(int(fd))
		earlier = at > 0 && at < before
	}) != nil {
		return false
	}
	taken := s.order.current.Load()
	return earlier || taken == orderReading || taken > 0 && taken < before
}

// unreadSince returns when the first unread bytes arrived, or 0 if there are none
// or it is unknown.
func unreadSince(fd int) int64 {
	var first [1]byte
	var control [64]byte
	n, length, _, _, err := syscall.Recvmsg(fd, first[:], control[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	if err != nil || n == 0 {
		return 0
	}
	return parseTimestamp(control[:length])
}
