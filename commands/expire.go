package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
)

// Expiry are the rows of the commands on deadlines.
var Expiry = []Command{
	{
		Name: "expire", Event: "expire", Arity: -3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW update")},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Syntax: "key seconds [NX | XX | GT | LT]",
		Summary: "Sets a key's time to live in seconds.",
		Handler: func(c *Ctx) resp.Value { return expire(c, c.NowMs, 1000) },
	},
	{
		Name: "expireat", Event: "expire", Arity: -3,
		Flags: Write | Fast, Keys: []KeySpec{key(1, "RW update")},
		Group: "generic", Since: "1.2.0", Complexity: "O(1)",
		Syntax:  "key unix-time-seconds [NX | XX | GT | LT]",
		Summary: "Sets a key's deadline in unix seconds.",
		Handler: func(c *Ctx) resp.Value { return expire(c, 0, 1000) },
	},
	{
		Name: "expiretime", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "generic", Since: "7.0.0", Complexity: "O(1)", Syntax: "key",
		Summary: "Returns a key's deadline in unix seconds.",
		Handler: func(c *Ctx) resp.Value { return ttl(c, 0, 1000) },
	},
	{
		Name: "persist", Event: "persist", Arity: 2,
		Flags: Write | Fast, Keys: []KeySpec{key(1, "RW update")},
		Group: "generic", Since: "2.2.0", Complexity: "O(1)", Syntax: "key", Handler: persist,
		Summary: "Removes a key's deadline.",
	},
	{
		Name: "pexpire", Event: "expire", Arity: -3,
		Flags: Write | Fast, Keys: []KeySpec{key(1, "RW update")},
		Group: "generic", Since: "2.6.0", Complexity: "O(1)", Syntax: "key milliseconds [NX | XX | GT | LT]",
		Summary: "Sets a key's time to live in milliseconds.",
		Handler: func(c *Ctx) resp.Value { return expire(c, c.NowMs, 1) },
	},
	{
		Name: "pexpireat", Event: "expire", Arity: -3,
		Flags: Write | Fast, Keys: []KeySpec{key(1, "RW update")},
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Syntax:  "key unix-time-milliseconds [NX | XX | GT | LT]",
		Summary: "Sets a key's deadline in unix milliseconds.",
		Handler: func(c *Ctx) resp.Value { return expire(c, 0, 1) },
	},
	{
		Name: "pexpiretime", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "generic", Since: "7.0.0", Complexity: "O(1)", Syntax: "key",
		Summary: "Returns a key's deadline in unix milliseconds.",
		Handler: func(c *Ctx) resp.Value { return ttl(c, 0, 1) },
	},
	{
		Name: "pttl", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "generic", Since: "2.6.0", Complexity: "O(1)", Syntax: "key",
		Summary: "Returns the time to live of a key in milliseconds.",
		Handler: func(c *Ctx) resp.Value { return ttl(c, c.NowMs, 1) },
	},
	{
		Name: "ttl", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Syntax: "key",
		Summary: "Returns the time to live of a key in seconds.",
		Handler: func(c *Ctx) resp.Value { return ttl(c, c.NowMs, 1000) },
	},
}

// expire runs the four commands that set a deadline. The argument counts units of
// unitMs milliseconds from baseMs.
func expire(c *Ctx, baseMs, unitMs int64) resp.Value {
	var nx, xx, gt, lt bool
	for o := (options{c.Args[3:]}); o.more(); {
		switch {
		case o.word("nx"):
			nx = true
		case o.word("xx"):
			xx = true
		case o.word("gt"):
			gt = true
		case o.word("lt"):
			lt = true
		default:
			return unknownOption(o.value())
		}
	}
	if nx && (xx || gt || lt) {
		return errExpireNXOther
	}
	if gt && lt {
		return errExpireGTLT
	}

	atMs, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	if atMs > math.MaxInt64/unitMs || atMs < math.MinInt64/unitMs {
		return invalidExpire(c)
	}
	atMs *= unitMs
	if atMs > math.MaxInt64-baseMs {
		return invalidExpire(c)
	}
	atMs += baseMs

	n := c.DB.Find(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Int(0)
	}
	oldMs, has := n.Value.ExpireAtMs()
	switch {
	case nx && has, xx && !has:
		return resp.Int(0)
	case gt && (!has || atMs <= oldMs): // no deadline is later than any
		return resp.Int(0)
	case lt && has && atMs >= oldMs:
		return resp.Int(0)
	}
	if atMs <= c.NowMs {
		c.DB.Delete(n)
		c.DidCall("DEL", c.Args[1])
		return resp.Int(1)
	}
	c.DB.ExpireAt(n, atMs)
	c.DB.Modified(n)
	if baseMs != 0 || unitMs != 1 { // otherwise the call has the deadline
		c.DidExpire(c.Args[1], atMs, c.Args[3:]...)
	}
	return resp.Int(1)
}

// ttl runs the four commands that return a deadline, counted from baseMs in units of
// unitMs milliseconds, rounded to the nearest.
func ttl(c *Ctx, baseMs, unitMs int64) resp.Value {
	n := c.DB.Peek(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Int(-2)
	}
	atMs, has := n.Value.ExpireAtMs()
	if !has {
		return resp.Int(-1)
	}
	leftMs := max(atMs-baseMs, 0)
	if unitMs == 1 {
		return resp.Int(leftMs)
	}
	return resp.Int(leftMs/unitMs + (leftMs%unitMs+unitMs/2)/unitMs)
}

// PERSIST key
func persist(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	if n == nil || !c.DB.Persist(n) {
		return resp.Int(0)
	}
	c.DB.Modified(n)
	return resp.Int(1)
}
