package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/engine"
)

// An order shows other connections how far this one has come with its input. What a loop runs is in the order
// of arrival; a command that another loop's connection affects waits for it, see docs/adr/0027.
type order struct {
	current    atomic.Int64 // number of the round whose input runs; 0: nothing runs, or it waits for others
	settled    atomic.Int64 // how often everything that was read has run
	hasWaiters atomic.Bool  // a goroutine waits for the next change

	mu      sync.Mutex
	changed chan struct{} // protected by mu: closed at the next change; nil: no waiter
}

// runs says that input of a round is about to be read and to run.
func (o *order) runs(stamp int64) { o.current.Store(stamp) }

// settle says that everything which was read has run.
func (o *order) settle() {
	if o.current.Load() != 0 {
		o.settled.Add(1)
		o.rests()
	}
}

// rests says that nothing runs.
func (o *order) rests() {
	o.current.Store(0)
	if o.hasWaiters.Load() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.hasWaiters.Store(false)
		close(o.changed)
		o.changed = nil
	}
}

// change returns a channel that is closed at the next change.
func (o *order) change() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
		o.hasWaiters.Store(true)
	}
	return o.changed
}

// AwaitEarlier implements engine.Orderer.
func (c *conn) AwaitEarlier(other engine.Orderer) bool {
	o := other.(*conn)
	settled := o.order.settled.Load()
	if !o.hasEarlier(c) {
		return true
	}
	c.leave()
	c.order.rests() // nobody waits for what waits
	defer c.order.runs(c.progress.stamp)
	timeout := time.NewTimer(c.server.timeouts.order)
	defer timeout.Stop()
	for {
		change := o.order.change()
		if o.order.settled.Load() != settled || !o.hasEarlier(c) {
			return true
		}
		select {
		case <-change:
		case <-timeout.C:
			return false
		}
	}
}

// hasEarlier reports whether the connection runs, or has not yet read, what may have reached it before what
// another one runs. On the same loop, what is read later came later.
func (c *conn) hasEarlier(than *conn) bool {
	if c.signals.handshaking.Load() {
		return false
	}
	// First what is unread: if it is read meanwhile, it is seen to run, or has run.
	unread := c.loop != than.loop && c.carrier.hasUnread()
	runs := c.order.current.Load()
	return unread || runs != 0 && (c.loop != than.loop || runs < than.progress.stamp)
}
