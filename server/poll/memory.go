package poll

import (
	"runtime"
	"sync"
)

// A Memory is a Poller of connections that say themselves when they are ready. Goroutines that wait on it are
// durably blocked in a testing/synctest bubble.
type Memory struct {
	mu      sync.Mutex
	changed sync.Cond
	woken   bool    // protected by mu, as are the fields below
	queued  []bool  // by token: it is in ready
	ready   []int32 // tokens, in the order of Ready's calls
	taken   []Event // of the last call
}

// NewMemory returns a Poller.
func NewMemory() *Memory {
	m := &Memory{}
	m.changed.L = &m.mu
	return m
}

// Ready reports that a connection can go on. Any goroutine may call it.
func (m *Memory) Ready(token int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for int(token) >= len(m.queued) {
		m.queued = append(m.queued, false)
	}
	if !m.queued[token] {
		m.queued[token] = true
		m.ready = append(m.ready, token)
		m.changed.Signal()
	}
}

// Wait implements Poller.
func (m *Memory) Wait() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.ready) == 0 && !m.woken {
		m.changed.Wait()
	}
	return m.take()
}

// Poll implements Poller.
func (m *Memory) Poll() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take()
}

// Pass implements Poller.
func (m *Memory) Pass() []Event {
	runtime.Gosched()
	return m.Poll()
}

// take requires mu.
func (m *Memory) take() []Event {
	m.woken = false
	m.taken = m.taken[:0]
	for _, token := range m.ready {
		m.queued[token] = false
		m.taken = append(m.taken, Event{Token: token, Readable: true, Ended: true})
	}
	m.ready = m.ready[:0]
	return m.taken
}

// Wake implements Poller.
func (m *Memory) Wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.woken = true
	m.changed.Signal()
}

// Close implements Poller.
func (m *Memory) Close() {}
