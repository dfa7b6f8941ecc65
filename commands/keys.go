package commands

import (
	"math/rand/v2"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Keys are the rows of the commands on keys of any type.
var Keys = []Command{
	{
		Name: "copy", Event: "copy_to", Arity: -3,
		Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "RO access"), key(2, "OW update")},
		Group: "generic", Since: "6.2.0", Complexity: "O(N)", Handler: copyKey,
		Syntax:  "source destination [DB destination-db] [REPLACE]",
		Summary: "Copies a value and its deadline to another key or database.",
	},
	{
		Name: "del", Event: "del", Arity: -2, Flags: Write, Keys: []KeySpec{keys(1, "RM delete")},
		Tips:  []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Group: "generic", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [key ...]", Handler: del,
		Summary: "Removes keys.",
	},
	{
		Name: "exists", Arity: -2, Flags: ReadOnly | Fast, Keys: []KeySpec{keys(1, "RO")},
		Tips:  []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Group: "generic", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [key ...]", Handler: exists,
		Summary: "Counts how many of the given keys exist.",
	},
	{
		Name: "keys", Arity: 2, Flags: ReadOnly | AllShards | Stepwise, Categories: []string{"dangerous"},
		Tips:  []string{"request_policy:all_shards", "nondeterministic_output_order"},
		Group: "generic", Since: "1.0.0", Complexity: "O(N)", Syntax: "pattern", Handler: keysMatching,
		Summary: "Lists every key whose name matches a pattern.",
		Deviation: "outside of EXEC and scripts other commands run meanwhile: a key that is renamed then " +
			"may be listed under both names or neither",
	},
	{
		Name: "move", Arity: 3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Syntax: "key db", Handler: move,
		Summary: "Moves a key, with its deadline, to another database that does not have it.",
	},
	{
		Name: "object", Arity: -2, Group: "generic", Since: "2.2.3", Complexity: "O(1)",
		Summary: "Inspects a value.",
		Subs: []Command{
			{
				Name: "encoding", Arity: 3, Flags: ReadOnly, Keys: []KeySpec{key(2, "RO")},
				Tips:  []string{"nondeterministic_output"},
				Group: "generic", Since: "2.2.3", Complexity: "O(1)", Syntax: "key", Handler: objectEncoding,
				Summary: "Returns the encoding of a value, by Redis' names.",
			},
			{
				Name: "freq", Arity: 3, Flags: ReadOnly, Keys: []KeySpec{key(2, "RO")},
				Tips:  []string{"nondeterministic_output"},
				Group: "generic", Since: "4.0.0", Complexity: "O(1)", Syntax: "key", Handler: objectFreq,
				Summary: "Returns how often a key is used, on a logarithmic scale, under an LFU policy.",
			},
			Help("generic", "6.2.0", "keyspace"),
			{
				Name: "idletime", Arity: 3, Flags: ReadOnly, Keys: []KeySpec{key(2, "RO")},
				Tips:  []string{"nondeterministic_output"},
				Group: "generic", Since: "2.2.3", Complexity: "O(1)", Syntax: "key", Handler: objectIdleTime,
				Summary: "Returns for how many seconds a key has not been used.",
			},
			{
				Name: "refcount", Arity: 3, Flags: ReadOnly, Keys: []KeySpec{key(2, "RO")},
				Tips:  []string{"nondeterministic_output"},
				Group: "generic", Since: "2.2.3", Complexity: "O(1)", Syntax: "key", Handler: objectRefCount,
				Summary: "Returns the reference count of a value, as Redis counts.",
			},
		},
	},
	{
		Name: "randomkey", Arity: 1, Flags: ReadOnly | AllShards | Random,
		Tips:  []string{"request_policy:all_shards", "nondeterministic_output"},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Handler: randomKey,
		Summary: "Returns a random key.",
	},
	{
		Name: "rename", Arity: 3, Flags: Write,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "OW update")},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Syntax: "key newkey", Handler: rename,
		Summary: "Renames a key, with its deadline, and replaces a key that has the new name.",
	},
	{
		Name: "renamenx", Arity: 3, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "OW insert")},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Syntax: "key newkey", Handler: renameNX,
		Summary: "Renames a key if no key has the new name.",
	},
	{
		Name: "scan", Arity: -2, Flags: ReadOnly | AllShards | Random, Locks: scanShards,
		Tips:  []string{"nondeterministic_output", "request_policy:special"},
		Group: "generic", Since: "2.8.0", Complexity: "O(1)", Handler: scan,
		Syntax:  "cursor [MATCH pattern] [COUNT count] [TYPE type]",
		Summary: "Iterates over the keys.",
	},
	{
		Name: "sort", Arity: -2, Flags: Write | DenyOOM,
		Categories: []string{"set", "sortedset", "list", "dangerous"},
		Keys: []KeySpec{
			key(1, "RO access"),
			{Flags: "RO access", Find: noKeyArgument, Notes: "BY and GET: the keys follow from the elements"},
			{Flags: "OW update", Find: sortDestination, Notes: "STORE: it may stand anywhere"},
		},
		Reaches: sortReaches,
		Group:   "generic", Since: "1.0.0", Complexity: "O(N+M*log(M))",
		Handler: sortKey, Deviation: sortDeviation,
		Syntax: "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] " +
			"[ALPHA] [STORE destination]",
		Summary: "Returns or stores the sorted elements of a list, set or sorted set, or values of keys " +
			"derived from them.",
	},
	{
		Name: "sort_ro", Arity: -2, Flags: ReadOnly,
		Categories: []string{"set", "sortedset", "list", "dangerous"},
		Keys: []KeySpec{
			key(1, "RO access"),
			{Flags: "RO access", Find: noKeyArgument, Notes: "BY and GET: the keys follow from the elements"},
		},
		Reaches: sortReadOnlyReaches,
		Group:   "generic", Since: "7.0.0", Complexity: "O(N+M*log(M))",
		Handler: sortReadOnly, Deviation: sortDeviation,
		Syntax: "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]",
		Summary: "Returns the sorted elements of a list, set or sorted set, or values of keys derived " +
			"from them.",
	},
	{
		Name: "touch", Arity: -2, Flags: ReadOnly | Fast, Keys: []KeySpec{keys(1, "RO")},
		Tips:  []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Group: "generic", Since: "3.2.1", Complexity: "O(N)", Syntax: "key [key ...]", Handler: touch,
		Summary: "Counts which of the given keys exist, and marks them as used.",
	},
	{
		Name: "type", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Syntax: "key", Handler: typeOf,
		Summary: "Returns the type of a key's value.",
	},
	{
		Name: "unlink", Event: "del", Arity: -2, Flags: Write | Fast, Keys: []KeySpec{keys(1, "RM delete")},
		Tips:  []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Group: "generic", Since: "4.0.0", Complexity: "O(N)", Syntax: "key [key ...]", Handler: del,
		Summary: "Removes keys; the garbage collector frees their memory later.",
	},
}

// DEL key [key ...] and UNLINK
func del(c *Ctx) resp.Value {
	removed := int64(0)
	for _, k := range c.Args[1:] {
		if n := c.DB.Find(k, c.NowMs); n != nil {
			c.DB.Delete(n)
			removed++
		}
	}
	return resp.Int(removed)
}

// EXISTS key [key ...]
func exists(c *Ctx) resp.Value { return countKeys(c, (*store.DB).Peek) }

// TOUCH key [key ...]
func touch(c *Ctx) resp.Value { return countKeys(c, (*store.DB).LookupTouch) }

func countKeys(c *Ctx, look func(db *store.DB, key []byte, nowMs int64) *store.Node) resp.Value {
	found := int64(0)
	for _, k := range c.Args[1:] {
		if look(c.DB, k, c.NowMs) != nil {
			found++
		}
	}
	return resp.Int(found)
}

// TYPE key
func typeOf(c *Ctx) resp.Value {
	n := c.DB.Peek(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Status("none")
	}
	return resp.Status(store.TypeOf(store.DataOf(n)).String())
}

// RENAME key newkey
func rename(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	if n == nil {
		return ErrNoSuchKey
	}
	if string(c.Args[1]) != string(c.Args[2]) {
		c.DB.Find(c.Args[2], c.NowMs) // it removes an expired key as expired
		c.DB.Rename(n, c.Args[2])
		c.noteRename()
	}
	return resp.OK
}

// RENAMENX key newkey
func renameNX(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	if n == nil {
		return ErrNoSuchKey
	}
	if c.DB.Find(c.Args[2], c.NowMs) != nil {
		return resp.Int(0)
	}
	c.DB.Rename(n, c.Args[2])
	c.noteRename()
	return resp.Int(1)
}

// noteRename adds the events of RENAME.
func (c *Ctx) noteRename() {
	c.note(eventRenameFrom, c.Args[1])
	c.note(eventRenameTo, c.Args[2])
}

// KEYS pattern
func keysMatching(c *Ctx) resp.Value {
	out := c.Build(0)
	for i := range store.NumShards {
		refusal := c.Step(i, func() {
			for n := range c.DB.AllInShard(i, c.NowMs) {
				if NameMatch(c.Args[1], n.Key()) && !out.Add(resp.Bulk(n.Key())) {
					return
				}
			}
		})
		if refusal.IsError() {
			return refusal
		}
	}
	return out.Array()
}

// RANDOMKEY
func randomKey(c *Ctx) resp.Value {
	n := c.DB.Random(c.NowMs, rand.Uint64N)
	if n == nil {
		return resp.Null
	}
	return resp.Bulk(n.Key())
}
