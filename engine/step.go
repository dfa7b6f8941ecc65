package engine

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// keysPerStep is how many keys a walk by Step visits between two yields: about a
// millisecond. The network is not looked at while goroutines compute on every
// processor.
const keysPerStep = 4096

// Step implements commands.Stepper.
func (s *Session) Step(shard int, fn func()) resp.Value {
	visited, refusal := s.step(store.ShardSet(1)<<shard, shard, fn)
	s.steps.Add(visited)
	return refusal
}

// step is Step without the yield. It returns how many keys the shard has.
func (s *Session) step(one store.ShardSet, shard int, fn func()) (keys int, refusal resp.Value) {
	e, c := s.engine, &s.ctx
	if busy := e.lockUnlessBusy(s, one); busy != nil {
		return 0, resp.Error(busy.Reply)
	}
	defer e.store.Unlock(one)
	if e.torn.has(one) {
		s.closing = true
		return 0, errCanceled
	}
	c.Use(c.DBIndex)
	defer func() { c.DB = nil }() // SWAPDB may swap it at any time
	fn()
	return e.store.ShardLen(shard), resp.None
}
