package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlKeyRows = []Command{
	{
		Name: "rl.reset", Arity: -2, Flags: Write | Fast, Keys: []KeySpec{keys(1, "RM delete")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K) with K keys", Handler: rlReset,
		Syntax:    "key [key ...]",
		Summary:   "Removes limiters' keys, with everything they have counted.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.refund", Arity: 3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRefund,
		Syntax:    "key n",
		Summary:   "Refunds the newest units of a limiter's key.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.info", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlInfo,
		Syntax:    "key",
		Summary:   "Returns the state of a limiter's key.",
		Deviation: "zlimit's own",
	},
}

// RL.RESET key [key ...]
//
// Answers how many keys were removed. One that is no limiter's is refused, and
// then none is removed.
func rlReset(c *Ctx) resp.Value {
	names := c.Args[1:]
	for _, name := range names {
		if n := c.DB.Find(name, c.NowMs); n != nil && c.holder(n) == nil {
			return refuseForeign(n)
		}
	}
	removed := int64(0)
	for _, name := range names {
		if n := c.DB.Find(name, c.NowMs); n != nil {
			c.DB.Delete(n)
			removed++
		}
	}
	if removed > 0 {
		c.didCall("DEL", names[0], names[1:]...)
	}
	return resp.Int(removed)
}

// RL.REFUND key n
//
// Answers how many units were returned: the newest n that still count for some
// window, or all of them.
func rlRefund(c *Ctx) resp.Value {
	count, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return errRLRefundNumber
	case count < 0:
		return errRLRefundNegative
	}
	node := c.DB.Find(c.Args[1], c.NowMs)
	if node == nil {
		return resp.Int(0)
	}
	if held := c.holder(node); held != nil && held.refund != nil {
		return held.refund(c, node, count)
	}
	return refuseForeign(node)
}

// RL.INFO key
//
// Answers a map: algorithm, used (units still held for some window), oldest and
// newest (unix milliseconds of what is held), bytes (of the value, about) and
// ttl (milliseconds, -1 for none); null where the state does not say. An empty
// map for no key.
func rlInfo(c *Ctx) resp.Value {
	n := c.DB.Peek(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Map()
	}
	algo := c.holder(n)
	if algo == nil {
		return refuseForeign(n)
	}
	i := algo.info(c, n)
	ttl := resp.Int(-1)
	if expireAtMs, expires := n.Value.ExpireAtMs(); expires {
		ttl = resp.Int(expireAtMs - c.NowMs)
	}
	return resp.Map(append(append(c.Values(16),
		resp.Bulk("algorithm"), resp.Bulk(algo.name), resp.Bulk("used"), i.used,
		resp.Bulk("oldest"), i.oldest, resp.Bulk("newest"), i.newest,
		resp.Bulk("bytes"), resp.Int(store.ValueBytes(n)), resp.Bulk("ttl"), ttl), i.more...)...)
}
