package commands

import (
	"math"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

// Leases bound how many work at once. The key is a sorted set of ids, each
// scored with the unix millisecond at which its lease ends, and expires with
// the last of them: a holder that has crashed needs nobody to clean up. At its
// end a lease is over, so waiting until then is enough. Leases that are over
// lie in the set until a call changes it.

var rlLeaseRows = []Command{
	{
		Name: "rl.acquire", Arity: 7, Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlAcquire,
		Syntax:    "key max LEASE milliseconds ID id",
		Summary:   "Acquires one of a number of slots for some time, or renews it.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.release", Arity: 3, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW access delete")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRelease,
		Syntax:    "key id",
		Summary:   "Releases a slot.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.renew", Arity: 5, Flags: Write | Fast, Keys: []KeySpec{key(1, "RW access update")},
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRenew,
		Syntax:    "key id LEASE milliseconds",
		Summary:   "Renews a slot.",
		Deviation: "zlimit's own",
	},
}

var leasesAlgorithm = algorithm{
	name: "LEASES", typed: isZSet, foreign: errRLForeignLeases,
	holds: func(_ *Ctx, n *store.Node) bool { return leasesIn(n, store.ZSetOf(n)) },
	info: func(c *Ctx, n *store.Node) keyInfo {
		set := store.ZSetOf(n)
		i := nullInfo()
		i.used = resp.Int(int64(set.Len() - endedIn(set, c.NowMs)))
		return i
	},
}

// The scores that leases may have: above the times in seconds that others
// write, below a log's.
const (
	minLease = 100_000_000_000
	maxLease = float64(limiter.MinScore)
)

// leasesIn tells whether a set is one that RL.ACQUIRE wrote. What sets it apart
// from another limiter's times in milliseconds is that it expires at its highest
// score.
func leasesIn(n *store.Node, set *zset.Set) bool {
	expireAtMs, expires := n.Value.ExpireAtMs()
	if !expires || set.Len() == 0 {
		return false
	}
	last := lastOf(set)
	return last == float64(expireAtMs) && last < maxLease &&
		set.CountByScore(zset.ScoreRange{Min: math.Inf(-1), Max: minLease, MaxOpen: true}) == 0
}

func lastOf(set *zset.Set) float64 { return set.ScoreAt(set.Len() - 1) }

// endedIn counts the leases that are over; they are the first.
func endedIn(set *zset.Set, nowMs int64) int {
	return set.CountByScore(zset.ScoreRange{Min: math.Inf(-1), Max: float64(nowMs)})
}

// A leaseKey is a key that holds leases, or nothing yet.
type leaseKey struct {
	node  *store.Node // nil: no key yet
	set   *zset.Set   // empty with node
	ended int         // how many of the set are over
}

// findLeases looks a key up; a refusal where it holds something else.
func (c *Ctx) findLeases(name []byte) (k leaseKey, refusal resp.Value) {
	n := c.DB.Find(name, c.NowMs)
	if n == nil {
		return k, resp.None
	}
	set := store.ZSetOf(n)
	if set == nil || !leasesIn(n, set) {
		return k, c.refuseState(n, "LEASES")
	}
	return leaseKey{n, set, endedIn(set, c.NowMs)}, resp.None
}

// living is how many leases are not over.
func (k *leaseKey) living() int64 {
	if k.node == nil {
		return 0
	}
	return int64(k.set.Len() - k.ended)
}

// has tells whether an id has a lease that is not over.
func (k *leaseKey) has(c *Ctx, id []byte) bool {
	if k.node == nil {
		return false
	}
	end, ok := k.set.Score(id)
	return ok && end > float64(c.NowMs)
}

// waitMs is how long it takes at the latest until less than most are living.
func (k *leaseKey) waitMs(c *Ctx, most int64) int64 {
	over := k.living() - most
	if over < 0 {
		return 0
	}
	return int64(k.set.ScoreAt(k.ended+int(over))) - c.NowMs
}

// put gives an id a lease.
func (k *leaseKey) put(c *Ctx, id []byte, leaseMs int64) {
	if k.node == nil {
		k.set = &zset.Set{}
		k.node = c.DB.Put(c.Args[1], k.set)
	}
	k.set.Add(id, float64(c.NowMs+leaseMs)) // first, so that it is never empty
	if g := c.did(4, "ZADD", c.Args[1]); g != nil {
		g.Int(c.NowMs + leaseMs)
		g.Bytes(id)
	}
	k.changed(c)
}

// changed drops what is over, and looks after the expiry.
func (k *leaseKey) changed(c *Ctx) {
	if k.set.RemoveByScore(zset.ScoreRange{Min: math.Inf(-1), Max: float64(c.NowMs)}) > 0 {
		c.didDrop(c.Args[1], 0, c.NowMs)
	}
	k.ended = 0
	if k.set.Len() > 0 {
		k.set.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
		old, _ := k.node.Value.ExpireAtMs()
		if at := int64(lastOf(k.set)); at != old {
			c.DB.ExpireAt(k.node, at)
			c.didExpire(c.Args[1], at)
		}
	}
	c.DB.Modified(k.node)
}

// RL.ACQUIRE key max LEASE ms ID id
//
// Answers whether the id has a slot (1 or 0), how many are taken, max, and how
// many milliseconds at the latest until one is free (0: one is). An id that has
// a slot keeps it, with the new lease, whatever max is.
func rlAcquire(c *Ctx) resp.Value {
	most, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return errRLMaxNumber
	case most < 1:
		return errRLMax
	}
	leaseMs, id, refusal := parseTerm(options{c.Args[3:]}, acquireOptions)
	if refusal.IsError() {
		return refusal
	}
	k, refusal := c.findLeases(c.Args[1])
	if refusal.IsError() {
		return refusal
	}
	granted := int64(0)
	if k.living() < most || k.has(c, id) {
		granted = 1
		k.put(c, id, leaseMs)
	}
	return resp.Array(append(c.Values(4),
		resp.Int(granted), resp.Int(k.living()), resp.Int(most), resp.Int(k.waitMs(c, most)))...)
}

// RL.RENEW key id LEASE ms
//
// Answers 1, or 0 where the id has no slot (any more).
func rlRenew(c *Ctx) resp.Value {
	if refusal := refuseID(c.Args[2]); refusal.IsError() {
		return refusal
	}
	leaseMs, _, refusal := parseTerm(options{c.Args[3:]}, renewOptions)
	if refusal.IsError() {
		return refusal
	}
	k, refusal := c.findLeases(c.Args[1])
	switch {
	case refusal.IsError():
		return refusal
	case !k.has(c, c.Args[2]):
		return resp.Int(0)
	}
	k.put(c, c.Args[2], leaseMs)
	return resp.Int(1)
}

// RL.RELEASE key id
//
// Answers 1, or 0 where the id has no slot (any more).
func rlRelease(c *Ctx) resp.Value {
	if refusal := refuseID(c.Args[2]); refusal.IsError() {
		return refusal
	}
	k, refusal := c.findLeases(c.Args[1])
	switch {
	case refusal.IsError():
		return refusal
	case !k.has(c, c.Args[2]):
		return resp.Int(0)
	}
	k.set.Remove(c.Args[2])
	c.didCall("ZREM", c.Args[1], c.Args[2])
	k.changed(c)
	return resp.Int(1)
}
