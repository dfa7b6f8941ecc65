package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlKeyRows = []commands.Command{
	{
		Name: "rl.reset", Arity: -2, Flags: commands.Write | commands.Fast,
		Keys:  []commands.KeySpec{{Flags: "RM delete", First: 1, Last: -1, Step: 1}},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K) with K keys", Handler: rlReset,
		Syntax:  "key [key ...]",
		Summary: "Removes limiters' keys, with everything they have counted.",
		Example: "user:42 user:43",
	},
	{
		Name: "rl.refund", Arity: 3, Flags: commands.Write | commands.Fast, Keys: key("RW access update"),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRefund,
		Syntax:  "key n",
		Summary: "Refunds the newest units of a limiter's key.",
		Example: "user:42 1",
	},
	{
		Name: "rl.info", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: key("RO access"),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlInfo,
		Syntax:  "key",
		Summary: "Returns the state of a limiter's key.",
		Example: "user:42",
	},
}

// RL.RESET key [key ...]
//
// The reply is the number of keys removed. The call removes none if any is not a
// limiter's.
func rlReset(c *commands.Ctx) resp.Value {
	names := c.Args[1:]
	for _, name := range names {
		if n := c.DB.Find(name, c.NowMs); n != nil && algorithmOf(c, n) == nil {
			return foreignKeyError(n)
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
		c.DidCall("DEL", names[0], names[1:]...)
	}
	return resp.Int(removed)
}

// RL.REFUND key n
//
// The reply is the number of units returned: the newest n that still count for some
// window, or all of them.
func rlRefund(c *commands.Ctx) resp.Value {
	count, refusal := notNegative(c.Args[2], errRefundNumber, errRefundNegative)
	if refusal.IsError() {
		return refusal
	}
	node := c.DB.Find(c.Args[1], c.NowMs)
	if node == nil {
		return resp.Int(0)
	}
	algo := algorithmOf(c, node)
	if algo == nil || !algo.inALGO() {
		return foreignKeyError(node)
	}
	t := session(c).newTerm()
	t.reset()
	t.name, t.algo, t.quotas[0] = c.Args[1], algo, limiter.Quota{} // those of the state
	if refusal := t.view(c, node); refusal.IsError() {
		return refusal
	}
	return t.content.refund(c, t, count)
}

// RL.INFO key
//
// The reply is a map: algorithm, used (units that still count for some window),
// oldest and newest (unix milliseconds), bytes (approximately) and ttl (milliseconds,
// -1 for none). Unknown values are null. The map is empty if the key does not exist.
func rlInfo(c *commands.Ctx) resp.Value {
	n := c.DB.Peek(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Map()
	}
	algo := algorithmOf(c, n)
	if algo == nil {
		return foreignKeyError(n)
	}
	i := algo.info(c, n)
	i.algorithm, i.bytes, i.ttlMs = algo, resp.Int(store.ValueBytes(n)), -1
	if expireAtMs, expires := n.Value.ExpireAtMs(); expires {
		i.ttlMs = expireAtMs - c.NowMs
	}
	return i.reply(c)
}

func (i *keyInfo) reply(c *commands.Ctx) resp.Value {
	pairs := append(c.Values(16),
		resp.Bulk("algorithm"), resp.Bulk(i.algorithm.name), resp.Bulk("used"), i.used,
		resp.Bulk("oldest"), i.oldest, resp.Bulk("newest"), i.newest,
		resp.Bulk("bytes"), i.bytes, resp.Bulk("ttl"), resp.Int(i.ttlMs))
	for n, name := range i.algorithm.moreInfo {
		pairs = append(pairs, resp.Bulk(name), resp.Int(i.more[n]))
	}
	return resp.Map(pairs...)
}
