package commands

import (
	"unsafe"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
)

var rlKeyRows = []Command{
	{
		Name: "rl.reset", Arity: -2, Flags: Write | Fast, Keys: []KeySpec{keys(1, "RM delete")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K) with K keys", Handler: rlReset,
		Syntax:    "key [key ...]",
		Summary:   "Removes limiters' keys, and with them all that they counted.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.refund", Arity: 3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRefund,
		Syntax:    "key n",
		Summary:   "Gives back the newest units of a limiter's key.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.info", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlInfo,
		Syntax:    "key",
		Summary:   "Tells what a limiter's key holds.",
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
		if n := c.DB.Find(name, c.NowMs); n != nil && c.holds(n) == algoNone {
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
	switch c.holds(node) {
	case algoLog:
		var k logKey
		c.findLog(&k, c.Args[1])
		return resp.Int(k.takeBack(c, count, limiter.MinScore, limiter.MaxScore-1))
	case algoFixed:
		return resp.Int(c.refundFixed(node, count))
	case algoBuckets:
		return resp.Int(c.refundBuckets(node, count))
	case algoGCRA:
		return errRLRefundGCRA
	}
	return refuseForeign(node)
}

func (c *Ctx) refundFixed(n *store.Node, count int64) int64 {
	s := store.StringOf(n)
	state, _ := fixedOf(n, s)
	if c.NowMs >= state.EndMs {
		return 0
	}
	count = min(count, state.Count)
	switch count {
	case 0:
	case state.Count:
		c.DB.Delete(n)
		c.didCall("DEL", c.Args[1])
	default:
		s.SetInt(state.Count - count)
		c.DB.Touch(n)
		c.didCount(c.Args[1], state.Count-count, state.EndMs, state.EndMs)
	}
	return count
}

func (c *Ctx) refundBuckets(n *store.Node, count int64) int64 {
	b, _ := c.bucketsOf(store.HashOf(n))
	expireAtMs, _ := n.Value.ExpireAtMs()
	removed, expireAtMs := b.TakeBack(c.NowMs, expireAtMs, count)
	switch {
	case removed == 0:
	case len(b.Counts) == 0:
		c.DB.Delete(n)
		c.didCall("DEL", c.Args[1])
	default:
		c.setBuckets(c.Args[1], n, &b, expireAtMs)
	}
	return removed
}

// RL.INFO key
//
// Answers a map: algorithm, used (units still held for some window), oldest and
// newest (unix milliseconds of what is held), bytes (of the value, about) and
// ttl (milliseconds, -1 for none); null where the state does not say. An empty
// map for no key.
func rlInfo(c *Ctx) resp.Value {
	n := c.DB.Lookup(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Map()
	}
	algo := c.holds(n)
	if algo == algoNone {
		return refuseForeign(n)
	}
	expireAtMs, expires := n.Value.ExpireAtMs()
	used, oldest, newest, size := resp.Null, resp.Null, resp.Null, int64(0)
	more := c.Values(0)
	switch algo {
	case algoLog:
		var k logKey
		c.findLog(&k, c.Args[1])
		keepMs := limiter.MaxWindowMs
		if expires {
			keepMs = limiter.Keep(k.set, c.NowMs, expireAtMs, 0)
		}
		used = resp.Int(limiter.Count(k.set, c.NowMs, expireAtMs, keepMs))
		oldest, newest = resp.Int(k.set.Oldest()/1000), resp.Int(k.set.Newest()/1000)
		size = k.set.Bytes()
	case algoFixed:
		s := store.StringOf(n)
		state, _ := fixedOf(n, s)
		if c.NowMs >= state.EndMs {
			state.Count = 0
		}
		used, size = resp.Int(state.Count), stringBytes(s)
	case algoGCRA:
		s := store.StringOf(n)
		state, _ := gcraOf(s)
		size = stringBytes(s)
		more = append(c.Values(2), resp.Bulk("tat_us"), resp.Int(state.TatUs))
	case algoHold:
		s := store.StringOf(n)
		h, _ := holdIn(s)
		used, size = resp.Int(h.units), stringBytes(s)
	case algoLeases:
		set := store.ZSetOf(n)
		used, size = resp.Int(int64(set.Len()-endedIn(set, c.NowMs))), set.Bytes()
	case algoBuckets:
		h := store.HashOf(n)
		b, _ := c.bucketsOf(h)
		used = resp.Int(b.Used(c.NowMs, expireAtMs))
		oldest, newest = resp.Int(b.Oldest()), resp.Int(b.Newest())
		size = hashBytes(h)
		more = append(c.Values(4), resp.Bulk("width_ms"), resp.Int(b.WidthMs), resp.Bulk("buckets"), resp.Int(b.N))
	}
	ttl := resp.Int(-1)
	if expires {
		ttl = resp.Int(expireAtMs - c.NowMs)
	}
	return resp.Map(append(append(c.Values(16),
		resp.Bulk("algorithm"), resp.Bulk(algo.String()), resp.Bulk("used"), used,
		resp.Bulk("oldest"), oldest, resp.Bulk("newest"), newest,
		resp.Bulk("bytes"), resp.Int(size), resp.Bulk("ttl"), ttl), more...)...)
}

func stringBytes(s *store.String) int64 { return int64(unsafe.Sizeof(*s)) + int64(s.Size()) }

func hashBytes(h *hash.Hash) int64 {
	size := int64(unsafe.Sizeof(*h))
	h.All(func(field, value []byte) bool {
		size += int64(len(field) + len(value) + 2)
		return true
	})
	return size
}
