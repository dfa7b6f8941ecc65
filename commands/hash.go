package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
)

// insertionOrder is how our hashes differ from Redis', which keeps the order of fields
// only while they are few and short.
const insertionOrder = "always in the order in which the fields came"

// Hashes are the rows of the commands on hashes. The handlers that read are here, those
// that write in hash_set.go, HRANDFIELD and HSCAN in hash_pick.go.
var Hashes = []Command{
	{
		Name: "hdel", Event: "hdel", Arity: -3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW delete")},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key field [field ...]", Handler: hdel,
		Summary: "Removes fields.",
	},
	{
		Name: "hexists", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "hash", Since: "2.0.0", Complexity: "O(1)", Syntax: "key field", Handler: hexists,
		Summary: "Reports whether a hash has a field.",
	},
	{
		Name: "hget", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "hash", Since: "2.0.0", Complexity: "O(1)", Syntax: "key field", Handler: hget,
		Summary: "Returns the value of a field.",
	},
	{
		Name: "hgetall", Arity: 2, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key", Deviation: insertionOrder,
		Summary: "Returns all fields with their values.",
		Handler: func(c *Ctx) resp.Value { return hgetAll(c, true, true) },
	},
	{
		Name: "hincrby", Event: "hincrby", Arity: 4,
		Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "hash", Since: "2.0.0", Complexity: "O(1)", Syntax: "key field increment", Handler: hincrBy,
		Summary: "Adds to the number in a field.",
	},
	{
		Name: "hincrbyfloat", Event: "hincrbyfloat", Arity: 4,
		Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "hash", Since: "2.6.0", Complexity: "O(1)", Syntax: "key field increment",
		Handler: hincrByFloat,
		Summary: "Adds a fraction to the number in a field.",
	},
	{
		Name: "hkeys", Arity: 2, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key", Deviation: insertionOrder,
		Summary: "Returns all fields.",
		Handler: func(c *Ctx) resp.Value { return hgetAll(c, true, false) },
	},
	{
		Name: "hlen", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "hash", Since: "2.0.0", Complexity: "O(1)", Syntax: "key", Handler: hlen,
		Summary: "Counts the fields.",
	},
	{
		Name: "hmget", Arity: -3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key field [field ...]", Handler: hmget,
		Summary: "Returns the values of several fields.",
	},
	{
		Name: "hmset", Event: "hset", Arity: -4, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW update")},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key field value [field value ...]",
		Handler: hmset,
		Summary: "Sets fields.",
	},
	{
		Name: "hrandfield", Arity: -2, Flags: ReadOnly | Random, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "hash", Since: "6.2.0", Complexity: "O(N)", Syntax: "key [count [WITHVALUES]]",
		Handler: hrandField,
		Summary: "Returns random fields.",
	},
	{
		Name: "hscan", Arity: -3, Flags: ReadOnly | Random, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "hash", Since: "2.8.0", Complexity: "O(1)", Syntax: "key cursor [MATCH pattern] [COUNT count]",
		Handler: hscan,
		Summary: "Iterates over the fields and values.",
	},
	{
		Name: "hset", Event: "hset", Arity: -4, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW update")},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key field value [field value ...]",
		Handler: hset,
		Summary: "Sets fields and returns how many are new.",
	},
	{
		Name: "hsetnx", Event: "hset", Arity: 4, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW insert")},
		Group: "hash", Since: "2.0.0", Complexity: "O(1)", Syntax: "key field value", Handler: hsetNX,
		Summary: "Sets a field that does not exist.",
	},
	{
		Name: "hstrlen", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "hash", Since: "3.2.0", Complexity: "O(1)", Syntax: "key field", Handler: hstrLen,
		Summary: "Returns the length of a field's value in bytes.",
	},
	{
		Name: "hvals", Arity: 2, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "hash", Since: "2.0.0", Complexity: "O(N)", Syntax: "key", Deviation: insertionOrder,
		Summary: "Returns the values of all fields.",
		Handler: func(c *Ctx) resp.Value { return hgetAll(c, false, true) },
	},
}

// hashOf returns a node's hash, nil for no node, or an error reply if the node has
// another type.
func hashOf(n *store.Node) (*hash.Hash, resp.Value) {
	if n == nil {
		return nil, resp.None
	}
	h := store.HashOf(n)
	if h == nil {
		return nil, ErrWrongType
	}
	return h, resp.None
}

// readHash looks up the key in Args[1] for reading.
func readHash(c *Ctx) (*hash.Hash, resp.Value) { return hashOf(c.DB.Lookup(c.Args[1], c.NowMs)) }

// readField looks up the field in Args[2] of the hash in Args[1].
func readField(c *Ctx) (value []byte, ok bool, refusal resp.Value) {
	h, refusal := readHash(c)
	if h == nil {
		return nil, false, refusal
	}
	value, ok = h.Get(c.Args[2])
	return value, ok, resp.None
}

// HGET key field
func hget(c *Ctx) resp.Value {
	value, ok, refusal := readField(c)
	switch {
	case refusal.IsError():
		return refusal
	case !ok:
		return resp.Null
	}
	return c.Copy(value)
}

// HMGET key field [field ...]
func hmget(c *Ctx) resp.Value {
	h, refusal := readHash(c)
	if refusal.IsError() {
		return refusal
	}
	out := c.Build(len(c.Args) - 2)
	for _, field := range c.Args[2:] {
		reply := resp.Null
		if h != nil {
			if value, ok := h.Get(field); ok {
				reply = c.Copy(value)
			}
		}
		if !out.Add(reply) {
			break
		}
	}
	return out.Array()
}

// HEXISTS key field
func hexists(c *Ctx) resp.Value {
	_, ok, refusal := readField(c)
	switch {
	case refusal.IsError():
		return refusal
	case !ok:
		return resp.Int(0)
	}
	return resp.Int(1)
}

// HSTRLEN key field
func hstrLen(c *Ctx) resp.Value {
	value, _, refusal := readField(c)
	if refusal.IsError() {
		return refusal
	}
	return resp.Int(int64(len(value)))
}

// HLEN key
func hlen(c *Ctx) resp.Value {
	h, refusal := readHash(c)
	switch {
	case refusal.IsError():
		return refusal
	case h == nil:
		return resp.Int(0)
	}
	return resp.Int(int64(h.Len()))
}

// hgetAll runs HGETALL key, HKEYS key and HVALS key.
func hgetAll(c *Ctx, fields, values bool) resp.Value {
	h, refusal := readHash(c)
	if refusal.IsError() {
		return refusal
	}
	if h == nil {
		h = &hash.Hash{}
	}
	each := 1
	if fields && values {
		each = 2
	}
	out := c.Build(each * h.Len())
	h.All(func(field, value []byte) bool {
		return (!fields || out.Add(c.Copy(field))) && (!values || out.Add(c.Copy(value)))
	})
	if fields && values {
		return out.Map()
	}
	return out.Array()
}
