// Package call holds the calls that an engine hands to what is upstream of it, so that neither
// package needs the other.
//
// This package is internal to zlimit: it may change in any release.
package call

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
)

// A Call is one command on its way to the upstream, or one transaction.
type Call struct {
	Cmd   *commands.Command // the row; EXEC's for a transaction
	Args  [][]byte          // must not change until the call has returned
	Queue []Queued          // of a transaction
	DB    int
	// Settings are the directives that decisions about rate limits follow.
	Settings *commands.Settings
	NowMs    int64  // when it came, in unix milliseconds
	Proto    int    // resp.RESP2 or resp.RESP3
	Addr     string // where the client has reached the server

	// Check says that the command does not run now: MULTI queues it, unless there is a reply.
	Check bool
	// Watch is what the client's session has watched: of WATCH, which changes it, and of EXEC, which ends it.
	Watch *Watch

	// Bound is what the replies may take that are held at the same time; nil: there is no bound.
	Bound *Bound

	// Reply is the reply, encoded in Proto. The call sets it. If the bound was passed, it is incomplete.
	Reply []byte
	// Long is the whole reply if that is long; Reply is then its beginning. The call sets it.
	Long *resp.Blocks
	// Degraded says that the upstream was away, so that the engine has to answer the call itself,
	// as Policy says. Reply is then the error reply that Closed means.
	Degraded bool
	Policy   Policy
	// Decided is the decisions that the reply tells, for the engine to count. The call sets it.
	Decided []Decided
}

// A Decided is a decision of a call, and the index in Queue of the command that has asked for it.
type Decided struct {
	*rl.LimitDecision
	At int
}

// A Queued is a command that MULTI has queued.
type Queued struct {
	Cmd  *commands.Command
	Args [][]byte
}

// A Policy says how a decision about a rate limit is answered while the upstream is away.
type Policy struct {
	Mode Mode
	// Share is by how much limits are divided under Local: the number of gateways.
	Share int64
}

// Mode is how a decision is answered while the upstream is away.
type Mode uint8

// The modes of the directive upstream-failure.
const (
	Closed Mode = iota // with an error
	Open               // as if nothing were used
	Local              // by the keys of the gateway itself, with a share of each limit
)

// A Kind is a kind of topic of pub/sub.
type Kind int

// The kinds of topics.
const (
	Channel Kind = iota
	Pattern
	ShardChannel
)

// A Watch is what a session has watched upstream. The zero Watch is nothing. It belongs to one goroutine.
type Watch struct {
	Conn interface{ Close() } // the upstream's connection that watches; nil: none
}

// Close ends the watch.
func (w *Watch) Close() {
	if w.Conn != nil {
		w.Conn.Close()
		w.Conn = nil
	}
}

// A Fact is a line of INFO.
type Fact struct{ Name, Value string }
