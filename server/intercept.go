package server

import (
	"time"

	"github.com/zlimit/zlimit/engine/faults"
	"github.com/zlimit/zlimit/resp"
)

// An Intercept decides the outcome of a client's command before it runs. It is
// called on the connection's goroutine: if it blocks, it delays that client only.
// args are valid until it returns. closing is closed when the server shuts down; it
// must return then.
//
// It exists for tests of clients: how they cope with a server that is loading,
// full, or gone in the middle of a pipeline.
type Intercept func(args [][]byte, closing <-chan struct{}) Interception

// An Interception is the outcome of a command. The zero value lets it run as usual.
type Interception struct {
	// Refusal, if not empty, is the error reply, and the command does not run. In
	// MULTI it makes EXEC fail, as every refusal does.
	Refusal string
	// Skip prevents the command from running, without a reply.
	Skip bool
	// Hangup closes the connection instead of replying. Replies to earlier commands
	// of the same pipeline still arrive.
	Hangup bool
	// Mute suppresses this reply and all later ones. The connection stays open.
	Mute bool
}

// doIntercepted runs a command as the server's Intercept decides. It reports
// whether the connection stays open.
func (c *conn) doIntercepted(args [][]byte) (reply resp.Value, open bool) {
	outcome := c.interception(args)
	switch {
	case outcome.Refusal != "":
		reply = c.session.Refuse(outcome.Refusal)
	case !outcome.Skip:
		reply = c.session.Do(args)
	}
	if outcome.Mute {
		c.progress.muted = true
	}
	return reply, !outcome.Hangup
}

// mayFail reports whether a test has injected a failure.
func (i *interceptors) mayFail() bool { return i.faults.Any() }

// interception returns the outcome of a command: that of the server's Intercept, or of a
// fault that a test has injected.
func (c *conn) interception(args [][]byte) (out Interception) {
	s := c.server
	if s.intercepts.program != nil {
		c.leave()
		out = s.intercepts.program(args, s.done)
	}
	if out != (Interception{}) || !s.intercepts.mayFail() {
		return out
	}
	fault := s.intercepts.faults.Next(s.engine.Table().Lookup(args[0]))
	if fault == nil {
		return out
	}
	c.session.EndCall() // the delay is not the previous command's
	c.leave()
	s.delay(fault)
	return Interception(fault.Outcome())
}

// delay waits as a fault says, but not beyond the server's end.
func (s *Server) delay(fault *faults.Injected) {
	if ns := fault.DelayNs(); ns > 0 {
		timer := time.NewTimer(time.Duration(ns))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.done:
		}
	}
	if until := fault.Until(); until != nil {
		select {
		case <-until:
		case <-s.done:
		}
	}
}
