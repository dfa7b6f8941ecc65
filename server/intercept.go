package server

import (
	"github.com/zlimit/zlimit/resp"
)

// An Intercept decides, before a command of a client runs, how it shall end. It
// is called on the connection's goroutine, so that what it waits for delays that
// client only; args are valid until it returns. Closing is closed when the
// server ends, at which it must not wait any longer.
//
// It is for tests of clients: what a server answers that is loading, full, or
// gone halfway.
type Intercept func(args [][]byte, closing <-chan struct{}) Interception

// An Interception is how a command shall end; the zero value lets it run as if
// nobody had looked.
type Interception struct {
	// Refusal is answered and the command does not run; empty: it runs. In
	// MULTI it makes EXEC fail, as every refusal does.
	Refusal string
	// Skip keeps the command from running, without an answer.
	Skip bool
	// Hangup closes the connection in the place of an answer. What was answered
	// before it in the same pipeline still arrives.
	Hangup bool
	// Mute answers nothing, this time and for the rest of the connection, which
	// stays open.
	Mute bool
}

// intercepted runs a command that somebody else looks at first, and reports
// whether the connection goes on.
func (c *conn) intercepted(args [][]byte) (reply resp.Value, on bool) {
	do := c.server.intercept(args, c.server.done)
	switch {
	case do.Refusal != "":
		reply = c.session.Refuse(do.Refusal)
	case !do.Skip:
		reply = c.session.Do(args)
	}
	if do.Mute {
		c.muted = true
	}
	return reply, !do.Hangup
}
