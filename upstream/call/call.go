// Package call holds the calls that an engine hands to what is upstream of it, so that neither
// package needs the other.
//
// This package is internal to zlimit: it may change in any release.
package call

import (
	"github.com/zlimit/zlimit/commands"
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
	Proto    int // resp.RESP2 or resp.RESP3

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
	*commands.LimitDecision
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

// A Place says where the calls of a command run.
type Place uint8

// The places.
const (
	Here        Place = iota // in the engine
	Slot                     // on the node of its keys; calls in a row are sent together
	Alone                    // on one or all nodes, in order with the calls before and after it
	Waits                    // on a connection of its own, since it may block
	Refused                  // nowhere: the upstream has no use for it
	Transaction              // MULTI and its kin: on the engine's and the upstream's side
	Subscribes               // in the engine, with a subscription of the upstream
)

// A Kind is a kind of topic of pub/sub.
type Kind int

// The kinds of topics.
const (
	Channel Kind = iota
	Pattern
	ShardChannel
)

// A Watch is a connection to the upstream that watches keys. Its methods belong to one goroutine.
type Watch interface {
	// Run runs a transaction on the connection, which watches nothing afterwards.
	Run(c *Call)
	// Close ends the watch.
	Close()
}

// A Fact is a line of INFO.
type Fact struct{ Name, Value string }
