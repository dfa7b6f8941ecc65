package rl

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
