//go:build unix

package server

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// An order tells other connections how far this one has come with what its client
// has sent, by the instants at which that reached the system: in nanoseconds as
// the kernel stamps packets. See docs/adr/0027.
type order struct {
	taken   atomic.Int64 // when what runs now has arrived; idleOrder, askingOrder
	awaited atomic.Bool  // somebody waits for the next change

	mu      sync.Mutex
	changed chan struct{} // protected by mu: closed at the next change; nil: nobody waits
}

const (
	idleOrder   = 0  // nothing runs, or it is not known when it has arrived
	askingOrder = -1 // a read is under way: what runs next will be known at once
)

// set changes taken. It belongs to the connection's goroutine.
func (o *order) set(taken int64) {
	o.taken.Store(taken)
	if o.awaited.Load() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.awaited.Store(false)
		close(o.changed)
		o.changed = nil
	}
}

// change returns a channel that is closed when taken next changes.
func (o *order) change() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
		o.awaited.Store(true)
	}
	return o.changed
}

// arrived returns when what the connection runs now has reached the system, 0
// where that is not known. It belongs to the connection's goroutine.
func (s *socket) arrived() int64 {
	if s == nil {
		return 0
	}
	return max(s.order.taken.Load(), 0)
}

// await waits until everything has run that had reached the connection before an
// instant, as far as that is known, and not for long. It reports whether it has.
// Any goroutine may call it that holds nothing. There are no two that wait for each other: each waits for
// what is earlier than its own.
func (s *socket) await(before int64, patience time.Duration) bool {
	if s == nil || before == 0 || !s.hasEarlier(before) {
		return true
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		change := s.order.change()
		if !s.hasEarlier(before) {
			return true
		}
		select {
		case <-change:
		case <-over.C:
			return false
		}
	}
}

// hasEarlier reports whether the connection runs, or has not read, what has
// arrived before an instant. It looks at what is not read first: what has left
// there meanwhile is found running, or has run.
func (s *socket) hasEarlier(before int64) bool {
	earlier := false
	if s.raw.Control(func(fd uintptr) {
		at := unreadSince(int(fd))
		earlier = at > 0 && at < before
	}) != nil {
		return false
	}
	taken := s.order.taken.Load()
	return earlier || taken == askingOrder || taken > 0 && taken < before
}

// unreadSince returns when the first bytes that nobody has read have arrived, 0
// where there are none, or it is not known.
func unreadSince(fd int) int64 {
	var first [1]byte
	var control [64]byte
	n, length, _, _, err := syscall.Recvmsg(fd, first[:], control[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	if err != nil || n == 0 {
		return 0
	}
	return stampIn(control[:length])
}
