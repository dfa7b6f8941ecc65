package engine

import (
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/store"
)

// A request is one command of a client, from its arrival to its reply: what Do has to know of it, and nothing
// of the one before. One that CLIENT PAUSE postpones is kept by its wait.
type request struct {
	postponed bool // it waits for its turn, so it has no reply yet
	resumed   bool // it was postponed, and runs now
	admitted  bool // logins.Limit has admitted it
	answered  bool // EXEC has applied CLIENT REPLY itself
	deferred  bool // it is collected for ForwardBatch

	rules *replication.Rules // those that have admitted it

	locked    bool           // it holds a shard
	untouched store.ShardSet // its shards, if it does not count as use
	served    []*Blocked     // sessions that it has served and not yet woken
	awaited   *future        // see Await
}
