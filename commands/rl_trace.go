package commands

import "github.com/zlimit/zlimit/limiter"

// A Tracer records the decisions about the keys for which RL.TRACE has asked. Its methods
// may be called concurrently.
type Tracer interface {
	// Record adds a decision about a key of a database, if the key is traced.
	Record(db int, key []byte, d TracedDecision)
	// Trace returns the last n decisions about a key, oldest first. It reports false if the
	// key is not traced.
	Trace(db int, key []byte, n int) (Trace, bool)
}

// A TracedDecision is a call that consumes units and what was answered.
type TracedDecision struct {
	NowMs   int64
	Cost    int64
	AtMost  bool
	Granted int64 // units, 0 if the call was denied
}

// A Trace is what a Tracer knows of a key.
type Trace struct {
	Decisions []TracedDecision
	Lost      int64 // earlier decisions since the trace began
	FromEmpty bool  // the key did not exist when the trace began
}

// trace records a decision about a key. A cost of 0 is a peek, which is not recorded.
func (c *Ctx) trace(key []byte, call limiter.Call, granted int64) {
	if c.tracer() != nil && !call.Peek && call.Cost > 0 {
		c.Env.Tracer.Record(c.DBIndex, key, TracedDecision{c.NowMs, call.Cost, call.AtMost, granted})
	}
}
