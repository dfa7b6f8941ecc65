// Package logins slows logins from addresses from which many have failed. See docs/adr/0031-users.md.
//
// It reads no clock: instants are arguments, in microseconds of a clock that never stops.
//
// This package is internal to zlimit: it may change in any release.
package logins

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Limit slows the logins of an address from which many have failed, by the generic
// cell rate algorithm: a few may fail at once, then one attempt is admitted every
// intervalUs. An attempt counts before its password is compared, and is given back
// if that is right; otherwise attempts on many connections at once would all be
// compared. One that comes too early waits, or is refused without a comparison. Other
// addresses wait for nothing.
//
// The zero value admits everything. Methods may be called concurrently.
type Limit struct {
	intervalUs atomic.Int64 // between admitted attempts; 0: there is no limit

	mu sync.Mutex
	// arrival is when the next attempt of a network is due. It is protected by mu.
	arrival map[string]int64
}

const (
	burst       = 10
	maxNetworks = 10_000 // beyond that, those with the fewest failures are forgotten
)

// SetRate sets how many attempts are admitted in a second; 0 means that there is no limit.
func (l *Limit) SetRate(perSecond int64) {
	intervalUs := int64(0)
	if perSecond > 0 {
		intervalUs = 1_000_000 / perSecond
	}
	l.intervalUs.Store(intervalUs)
}

// Reserve counts an attempt of a network and returns after how many microseconds it may be
// made. If that is more than mostUs, the attempt does not count.
func (l *Limit) Reserve(network string, nowUs, mostUs int64) (waitUs int64) {
	intervalUs := l.intervalUs.Load()
	if intervalUs == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	due := max(l.arrival[network], nowUs)
	if waitUs = due - (burst-1)*intervalUs - nowUs; waitUs <= mostUs {
		l.set(network, due+intervalUs, nowUs)
	}
	return waitUs
}

// Succeeded gives the attempt of a login back.
func (l *Limit) Succeeded(network string, nowUs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(network, l.arrival[network]-l.intervalUs.Load(), nowUs)
}

// Failed reports whether a login that has failed is the one since which its network is slowed.
func (l *Limit) Failed(network string, nowUs int64) (slowed bool) {
	intervalUs := l.intervalUs.Load()
	l.mu.Lock()
	waitUs := l.arrival[network] - (burst-1)*intervalUs - nowUs
	l.mu.Unlock()
	return 0 < waitUs && waitUs <= intervalUs
}

// Len returns the number of networks whose failures are remembered.
func (l *Limit) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.arrival)
}

// set sets when the next attempt of a network is due. It requires mu.
func (l *Limit) set(network string, dueUs, nowUs int64) {
	if dueUs <= nowUs {
		delete(l.arrival, network)
		return
	}
	if l.arrival == nil {
		l.arrival = make(map[string]int64)
	}
	l.arrival[network] = dueUs
	if len(l.arrival) > maxNetworks {
		l.forget(nowUs)
	}
}

// forget removes the networks whose attempts are not slowed, or else a half of all,
// those with the fewest failures first. It requires mu.
func (l *Limit) forget(nowUs int64) {
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
