package commands

import (
	"strconv"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Databases returns the rows of the commands on whole databases, and TIME, which answers nowUs.
// FLUSHALL calls flushed.
func Databases(flushed func(), nowUs func() int64) []Command {
	return []Command{
		{
			Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast | AllShards, Categories: []string{"keyspace"},
			Tips:  []string{"request_policy:all_shards", "response_policy:agg_sum"},
			Group: "server", Since: "1.0.0", Complexity: "O(1)",
			Summary: "Counts the keys of the selected database.",
			Handler: func(c *Ctx) resp.Value { return resp.Int(int64(c.DB.Len())) },
		},
		{
			Name: "flushall", Arity: -1, Flags: Write | AllShards,
			Categories: []string{"keyspace", "dangerous"},
			Tips:       []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			Group:      "server", Since: "1.0.0", Complexity: "O(N)",
			Syntax: "[ASYNC | SYNC]", Handler: flushAll(flushed),
			Summary: "Removes every key of every database.",
		},
		{
			Name: "flushdb", Arity: -1, Flags: Write | AllShards,
			Categories: []string{"keyspace", "dangerous"},
			Tips:       []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			Group:      "server", Since: "1.0.0", Complexity: "O(N)", Syntax: "[ASYNC | SYNC]",
			Handler: flushDB,
			Summary: "Removes every key of the selected database.",
		},
		{
			Name: "swapdb", Arity: 3, Flags: Write | Fast | AllShards,
			Categories: []string{"keyspace", "dangerous"},
			Group:      "server", Since: "4.0.0", Complexity: "O(N)",
			Syntax: "index1 index2", Handler: swapDB,
			Summary: "Swaps two databases.",
		},
		{
			Name: "time", Arity: 1, Flags: Loading | Stale | Fast | Random,
			Tips:  []string{"nondeterministic_output"},
			Group: "server", Since: "2.6.0", Complexity: "O(1)", Handler: timeOf(nowUs),
			Place:   PlaceAlone, // the clock by which scripts and decisions run
			Summary: "Returns the server's clock: unix seconds, and microseconds within the second.",
		},
	}
}

// flushMode checks [ASYNC | SYNC]. With either, the garbage collector frees the memory.
func flushMode(c *Ctx) resp.Value {
	if len(c.Args) > 2 || len(c.Args) == 2 && !EqualFold(c.Args[1], "async") &&
		!EqualFold(c.Args[1], "sync") {
		return ErrSyntax
	}
	return resp.OK
}

// FLUSHDB [ASYNC | SYNC]
func flushDB(c *Ctx) resp.Value {
	reply := flushMode(c)
	if !reply.IsError() {
		c.DB.Flush()
	}
	return reply
}

// FLUSHALL [ASYNC | SYNC]
func flushAll(flushed func()) Handler {
	return func(c *Ctx) resp.Value {
		reply := flushMode(c)
		if !reply.IsError() {
			for i := range store.Databases {
				c.Store.DB(i).Flush()
			}
			flushed()
		}
		return reply
	}
}

// SWAPDB index1 index2
func swapDB(c *Ctx) resp.Value {
	if c.Settings.Cluster {
		return NotInCluster(c.Cmd)
	}
	i, ok := parseInt(c.Args[1])
	if !ok || i != int64(int32(i)) {
		return errFirstDBIndex
	}
	j, ok := parseInt(c.Args[2])
	if !ok || j != int64(int32(j)) {
		return errSecondDBIndex
	}
	if i < 0 || i >= store.Databases || j < 0 || j >= store.Databases {
		return ErrDBIndex
	}
	c.Store.Swap(int(i), int(j), c.NowMs)
	return resp.OK
}

// timeOf returns the handler of TIME. It reads the clock anew in scripts and EXEC, where other
// commands run at the instant at which those began.
func timeOf(nowUs func() int64) Handler {
	return func(c *Ctx) resp.Value {
		var digits [20]byte
		us := nowUs()
		return resp.Array(append(c.Values(2),
			c.Copy(strconv.AppendInt(digits[:0], us/1_000_000, 10)),
			c.Copy(strconv.AppendInt(digits[:0], us%1_000_000, 10)))...)
	}
}
