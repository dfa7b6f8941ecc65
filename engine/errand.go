package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// An errand is what a command waits for that is no key: a file that is being
// written or synced. It runs beside the session, which waits as it does for a
// key, and gives the reply.
type errand struct {
	// run returns the reply, resp.None where the wait ends in another way. It
	// returns soon after over is closed.
	run func(over <-chan struct{}) resp.Value
	// timedOut is the reply where time runs out first; nil: it cannot.
	timedOut func() resp.Value

	over chan struct{} // closed when nobody waits any more
}

// Await makes the command under way wait for run, for timeoutMs at most, 0 for
// as long as it takes. A command of EXEC must not.
func (s *Session) Await(timeoutMs int64, run func(over <-chan struct{}) resp.Value, timedOut func() resp.Value) resp.Value {
	s.errand = &errand{run: run, timedOut: timedOut, over: make(chan struct{})}
	s.ctx.Waiting = &commands.Wait{TimeoutMs: timeoutMs}
	return resp.None
}

// end lets run return. Only the one who has claimed the waiter calls it.
func (e *errand) end() {
	if e != nil {
		close(e.over)
	}
}
