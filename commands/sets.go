package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/set"
)

// Sets are the commands on sets. Intersections, unions and differences are in
// sets_combine.go, random members and SSCAN in sets_pick.go.
var Sets = []Command{
	{
		Name: "sadd", Event: "sadd", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW insert")},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key member [member ...]", Handler: sadd,
		Summary: "Adds members.",
	},
	{
		Name: "scard", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "set", Since: "1.0.0", Complexity: "O(1)", Syntax: "key", Handler: scard,
		Summary: "Counts the members.",
	},
	{
		Name: "sdiff", Arity: -2, Flags: ReadOnly, Keys: []KeySpec{keys(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [key ...]",
		Summary: "Returns the members of the first set that are in no other set.",
		Handler: func(c *Ctx) resp.Value { return replyCombined(c, difference) },
	},
	{
		Name: "sdiffstore", Event: "sdiffstore", Arity: -3, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "OW update"), keysFrom(2, "RO access")},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "destination key [key ...]",
		Summary: "Stores the members of the first set that are in no other set in a key.",
		Handler: func(c *Ctx) resp.Value { return storeCombined(c, difference) },
	},
	{
		Name: "sinter", Arity: -2, Flags: ReadOnly, Keys: []KeySpec{keys(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "set", Since: "1.0.0", Complexity: "O(N*M)", Syntax: "key [key ...]", Handler: sinter,
		Summary: "Returns the intersection of several sets.",
	},
	{
		Name: "sintercard", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Group: "set", Since: "7.0.0", Complexity: "O(N*M)",
		Syntax: "numkeys key [key ...] [LIMIT limit]", Handler: sinterCard,
		Summary: "Counts the intersection of several sets.",
	},
	{
		Name: "sinterstore", Event: "sinterstore", Arity: -3, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "RW update"), keysFrom(2, "RO access")},
		Group: "set", Since: "1.0.0", Complexity: "O(N*M)", Syntax: "destination key [key ...]",
		Summary: "Stores the intersection of several sets in a key.",
		Handler: func(c *Ctx) resp.Value { return storeCombined(c, intersection) },
	},
	{
		Name: "sismember", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "set", Since: "1.0.0", Complexity: "O(1)", Syntax: "key member", Handler: sisMember,
		Summary: "Reports whether a value is a member.",
	},
	{
		Name: "smembers", Arity: 2, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key", Handler: smembers,
		Summary: "Returns all members.",
	},
	{
		Name: "smismember", Arity: -3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "set", Since: "6.2.0", Complexity: "O(N)",
		Syntax: "key member [member ...]", Handler: smisMember,
		Summary: "Reports which of several values are members.",
	},
	{
		Name: "smove", Arity: 4, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "RW insert")},
		Group: "set", Since: "1.0.0", Complexity: "O(1)", Syntax: "source destination member", Handler: smove,
		Summary: "Moves a member from one set to another.",
	},
	{
		Name: "spop", Event: "spop", Arity: -2, Flags: Write | Fast | Random,
		Keys:  []KeySpec{key(1, "RW access delete")},
		Tips:  []string{"nondeterministic_output"},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [count]", Handler: spop,
		Summary: "Removes and returns random members.",
	},
	{
		Name: "srandmember", Arity: -2, Flags: ReadOnly | Random, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [count]", Handler: srandMember,
		Summary: "Returns random members.",
	},
	{
		Name: "srem", Event: "srem", Arity: -3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW delete")},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key member [member ...]", Handler: srem,
		Summary: "Removes members.",
	},
	{
		Name: "sscan", Arity: -3, Flags: ReadOnly | Random, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "set", Since: "2.8.0", Complexity: "O(1)",
		Syntax: "key cursor [MATCH pattern] [COUNT count]", Handler: sscan,
		Summary: "Iterates over the members.",
	},
	{
		Name: "sunion", Arity: -2, Flags: ReadOnly, Keys: []KeySpec{keys(1, "RO access")},
		Tips:  []string{"nondeterministic_output_order"},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [key ...]",
		Summary: "Returns the union of several sets.",
		Handler: func(c *Ctx) resp.Value { return replyCombined(c, union) },
	},
	{
		Name: "sunionstore", Event: "sunionstore", Arity: -3, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "OW update"), keysFrom(2, "RO access")},
		Group: "set", Since: "1.0.0", Complexity: "O(N)", Syntax: "destination key [key ...]",
		Summary: "Stores the union of several sets in a key.",
		Handler: func(c *Ctx) resp.Value { return storeCombined(c, union) },
	},
}

// setOf returns n's set, or nil if n is nil. It fails if n holds another type.
func setOf(n *store.Node) (*set.Set, resp.Value) {
	if n == nil {
		return nil, resp.None
	}
	s := store.SetOf(n)
	if s == nil {
		return nil, ErrWrongType
	}
	return s, resp.None
}

// readSet returns the set in the key Args[1], for reading.
func readSet(c *Ctx) (*set.Set, resp.Value) { return setOf(c.DB.Lookup(c.Args[1], c.NowMs)) }

// maxInts returns the maximum number of members of an intset. Redis allows at most
// 2^30, whatever the directive says.
func maxInts(c *Ctx) int { return int(min(c.Settings.SetMaxIntsetCount, 1<<30)) }

// setMember returns a member as a reply. Numbers are only formatted when encoded.
func setMember(m set.Member) resp.Value {
	if m.IsNumber() {
		return resp.BulkInt(m.Number())
	}
	return resp.Bulk(m.Text())
}

// SADD key member [member ...]
func sadd(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := setOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		s = &set.Set{}
	}
	added := int64(0)
	for _, member := range c.Args[2:] {
		if s.Add(member, maxInts(c)) {
			added++
		}
	}
	switch {
	case n == nil:
		c.DB.Put(c.Args[1], s)
	case added > 0:
		c.DB.Modified(n)
	}
	return resp.Int(added)
}

// SREM key member [member ...]
func srem(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := setOf(n)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	removed := int64(0)
	for _, member := range c.Args[2:] {
		if s.Remove(member) {
			removed++
		}
	}
	if removed > 0 {
		c.DB.Modified(n)
	}
	return resp.Int(removed)
}

// SMOVE source destination member
//
// As in Redis, the destination's type is not checked if the source does not exist.
func smove(c *Ctx) resp.Value {
	from, to := c.DB.Find(c.Args[1], c.NowMs), c.DB.Find(c.Args[2], c.NowMs)
	if from == nil {
		return resp.Int(0)
	}
	source, refusal := setOf(from)
	if refusal.IsError() {
		return refusal
	}
	destination, refusal := setOf(to)
	if refusal.IsError() {
		return refusal
	}
	member := c.Args[3]
	if from == to {
		return boolReply(source.Contains(member))
	}
	if !source.Remove(member) {
		return resp.Int(0)
	}
	c.changesAre(eventSRem)
	c.DB.Modified(from)
	c.changesAre(eventSAdd)
	switch {
	case to == nil:
		destination = &set.Set{}
		destination.Add(member, maxInts(c))
		c.DB.Put(c.Args[2], destination)
	case destination.Add(member, maxInts(c)):
		c.DB.Modified(to)
	}
	return resp.Int(1)
}

// SCARD key
func scard(c *Ctx) resp.Value {
	s, refusal := readSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	return resp.Int(int64(s.Len()))
}

// SISMEMBER key member
func sisMember(c *Ctx) resp.Value {
	s, refusal := readSet(c)
	if refusal.IsError() {
		return refusal
	}
	return boolReply(s != nil && s.Contains(c.Args[2]))
}

// SMISMEMBER key member [member ...]
func smisMember(c *Ctx) resp.Value {
	s, refusal := readSet(c)
	if refusal.IsError() {
		return refusal
	}
	out := c.Build(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		out.Add(boolReply(s != nil && s.Contains(member)))
	}
	return out.Array()
}

func boolReply(b bool) resp.Value {
	if b {
		return resp.Int(1)
	}
	return resp.Int(0)
}

// SMEMBERS key
func smembers(c *Ctx) resp.Value {
	s, refusal := readSet(c)
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Set()
	}
	return allMembers(c, s)
}

func allMembers(c *Ctx, s *set.Set) resp.Value {
	out := c.Build(s.Len())
	for m := range s.All() {
		if !out.Add(setMember(m)) {
			break
		}
	}
	return out.Set()
}
