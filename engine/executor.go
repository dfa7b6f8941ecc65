package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// An executor runs what a session has admitted.
type executor interface {
	// run runs a command and returns its reply, or resp.None if that comes later.
	run(cmd *commands.Command, args [][]byte) resp.Value
	// refuseQueued returns the error reply for a command that EXEC could not run, or resp.None.
	refuseQueued(cmd *commands.Command, args [][]byte) resp.Value
	// finish returns the reply of Do for that of its command: behind those of the calls before it.
	finish(reply resp.Value) resp.Value
	// flush runs the calls that run has put off, and returns their replies.
	flush() resp.Value
}

// keyspace runs commands on the keys of the engine.
type keyspace struct{ session *Session }

func (k keyspace) run(cmd *commands.Command, args [][]byte) resp.Value {
	return k.session.execute(cmd, args)
}

func (keyspace) refuseQueued(*commands.Command, [][]byte) resp.Value { return resp.None }

func (k keyspace) finish(reply resp.Value) resp.Value {
	s := k.session
	if !s.req.postponed { // else what CLIENT REPLY SKIP is for is still to come
		reply = s.bound(s.answers.apply(reply))
	}
	if len(s.inbox.waiting) > 0 {
		reply = s.inbox.before(reply)
	}
	return reply
}

func (keyspace) flush() resp.Value { return resp.None }
