package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A future is a reply that is computed beside the session: of a command that waits
// for a file to be written or synced, or for its own timeout.
type future struct {
	// run returns the reply, or resp.None if the wait ends in another way. It
	// returns soon after over is closed.
	run func(over <-chan struct{}) resp.Value
	// timedOut returns the reply if the time is up first; nil: there is no timeout.
	timedOut func() resp.Value

	over chan struct{} // closed when the wait has ended
}

// Await blocks the session, as on a key, until run returns the reply, for timeoutMs
// milliseconds at most; 0 means no limit. It returns resp.None at once. A command
// of EXEC must not call it.
func (s *Session) Await(
	timeoutMs int64, run func(over <-chan struct{}) resp.Value, timedOut func() resp.Value,
) resp.Value {
	s.awaited = &future{run: run, timedOut: timedOut, over: make(chan struct{})}
	s.ctx.Waiting = &commands.Wait{TimeoutMs: timeoutMs}
	return resp.None
}

// cancel makes run return. Only the goroutine that has claimed the waiter calls it.
func (f *future) cancel() {
	if f != nil {
		close(f.over)
	}
}
