package rl

import (
	"math"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

// Leases limit concurrency. The key is a sorted set of ids, each scored with the unix
// millisecond at which its lease expires, and from which on it does not count. The key
// expires with its last lease, so holders that crash leave nothing behind. Expired
// leases stay in the set until the next change.

var rlLeaseRows = []commands.Command{
	{
		Name: "rl.acquire", Arity: -7,
		Flags: commands.Write | commands.DenyOOM | commands.Fast | commands.WaitsRoom,
		Keys:  key("RW access update"),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlAcquire,
		Syntax:  "key max LEASE milliseconds ID id [WAIT milliseconds]",
		Summary: "Acquires one of a number of slots for some time, or renews it.",
		Example: "jobs:42 10 LEASE 30s ID worker-1",
	},
	{
		Name: "rl.release", Arity: 3, Flags: commands.Write | commands.Fast, Keys: key("RW access delete"),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRelease,
		Syntax:  "key id",
		Summary: "Releases a slot.",
		Example: "jobs:42 worker-1",
	},
	{
		Name: "rl.renew", Arity: 5, Flags: commands.Write | commands.Fast, Keys: key("RW access update"),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlRenew,
		Syntax:  "key id LEASE milliseconds",
		Summary: "Renews a slot.",
		Example: "jobs:42 worker-1 LEASE 30s",
	},
}

var leasesAlgorithm = algorithm{
	name: "LEASES", redisType: "zset", hasType: isZSet, foreignError: errForeignLeases, slots: true,
	hasState: func(_ *commands.Ctx, n *store.Node) bool { return isLeaseSet(n, store.ZSetOf(n)) },
	open: func(c *commands.Ctx, t *term) resp.Value {
		t.content = &t.leases
		return t.leases.view(c, t.name, t.node)
	},
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		set := store.ZSetOf(n)
		i := emptyInfo()
		i.used = resp.Int(int64(set.Len() - countExpired(set, c.NowMs)))
		return i
	},
}

// The range of leases' scores, between unix times in seconds, which other programs
// write, and the scores of logs.
const (
	minLease = 100_000_000_000
	maxLease = float64(limiter.MinScore)
)

// isLeaseSet reports whether RL.ACQUIRE wrote the set. Unlike other limiters' sets of
// times in milliseconds, it expires at its highest score.
func isLeaseSet(n *store.Node, set *zset.Set) bool {
	expireAtMs, expires := n.Value.ExpireAtMs()
	if !expires || set.Len() == 0 {
		return false
	}
	last := highestScore(set)
	return last == float64(expireAtMs) && last < maxLease &&
		set.CountByScore(zset.ScoreRange{Min: math.Inf(-1), Max: minLease, MaxOpen: true}) == 0
}

func highestScore(set *zset.Set) float64 { return set.ScoreAt(set.Len() - 1) }

// countExpired returns the number of expired leases, which come first in the set.
func countExpired(set *zset.Set, nowMs int64) int { return set.CountByScore(expiredLeases(nowMs)) }

func expiredLeases(nowMs int64) zset.ScoreRange {
	return zset.ScoreRange{Min: math.Inf(-1), Max: float64(nowMs)}
}

// A leaseKey is a key that holds leases or does not exist yet.
type leaseKey struct {
	name    []byte
	node    *store.Node // nil: the key does not exist
	set     *zset.Set   // nil if node is
	expired int         // number of expired leases in set
}

// findLeases looks up a key. It fails if the key holds anything but leases.
func findLeases(c *commands.Ctx, name []byte) (k leaseKey, refusal resp.Value) {
	n := c.DB.Find(name, c.NowMs)
	refusal = leasesAlgorithm.stateError(c, n, k.view(c, name, n))
	return k, refusal
}

// view sets k to the leases in n, which is nil if the key does not exist.
func (k *leaseKey) view(c *commands.Ctx, name []byte, n *store.Node) (refusal resp.Value) {
	*k = leaseKey{name: name}
	if n == nil {
		return resp.None
	}
	set := store.ZSetOf(n)
	if set == nil || !isLeaseSet(n, set) {
		return errOtherState
	}
	k.node, k.set, k.expired = n, set, countExpired(set, c.NowMs)
	return resp.None
}

// admits reports whether an id gets or keeps a slot of a number of them.
func (k *leaseKey) admits(c *commands.Ctx, id []byte, maxSlots int64) bool {
	return maxSlots > 0 && (k.active() < maxSlots || k.holds(c, id))
}

func (k *leaseKey) decide(c *commands.Ctx, t *term) resp.Value {
	q, active := t.quotas[0], k.active()
	t.d = limiter.Decision{Limit: q.Limit, WindowMs: q.WindowMs}
	lastMs := c.NowMs
	if active > 0 {
		lastMs = int64(highestScore(k.set))
	}
	switch {
	case !k.admits(c, t.id, q.Limit):
		t.d.RetryAfterMs = k.freeAfterMs(c, q.Limit)
	case t.Peek:
		t.d.Allowed = 1
	default:
		t.d.Allowed = 1
		t.d.Change = limiter.Change{Units: 1, PlaceMs: c.NowMs + q.WindowMs}
		lastMs = max(lastMs, c.NowMs+q.WindowMs)
		if !k.holds(c, t.id) {
			active++
		}
	}
	t.d.Used, t.d.Remaining, t.d.ResetAfterMs = active, max(0, q.Limit-active), lastMs-c.NowMs
	return resp.None
}

// record is not called: a slot has no actual cost.
func (k *leaseKey) record(*commands.Ctx, *term, int64) resp.Value { return resp.None }

func (k *leaseKey) subject() limiter.Subject { return nil }

func (k *leaseKey) apply(c *commands.Ctx, t *term) { k.grant(c, t.id, t.quotas[0].WindowMs) }

func (k *leaseKey) held(c *commands.Ctx, t *term, _ *heldTerm) int64 {
	if k.holds(c, t.id) {
		return 1
	}
	return 0
}

func (k *leaseKey) giveBack(c *commands.Ctx, t *term, _ *heldTerm, _ int64) { k.release(c, t.id) }

func (k *leaseKey) refund(*commands.Ctx, *term, int64) resp.Value { return errForeignSet }

func (k *leaseKey) release(c *commands.Ctx, id []byte) {
	k.set.Remove(id)
	c.DidCall("ZREM", k.name, id)
	k.commit(c)
}

func (k *leaseKey) active() int64 {
	if k.node == nil {
		return 0
	}
	return int64(k.set.Len() - k.expired)
}

func (k *leaseKey) holds(c *commands.Ctx, id []byte) bool {
	if k.node == nil {
		return false
	}
	end, ok := k.set.Score(id)
	return ok && end > float64(c.NowMs)
}

// freeAfterMs returns the milliseconds after which fewer than maxSlots leases are
// active, unless leases are added or renewed; -1: never.
func (k *leaseKey) freeAfterMs(c *commands.Ctx, maxSlots int64) int64 {
	excess := k.active() - maxSlots
	switch {
	case maxSlots == 0:
		return -1
	case excess < 0:
		return 0
	}
	return int64(k.set.ScoreAt(k.expired+int(excess))) - c.NowMs
}

func (k *leaseKey) grant(c *commands.Ctx, id []byte, leaseMs int64) {
	if k.node == nil {
		k.node, k.set = c.DB.AddZSet(k.name)
	}
	k.set.Add(id, float64(c.NowMs+leaseMs)) // before commit, so that the set is never empty
	if g := c.Did(4, "ZADD", k.name); g != nil {
		g.Int(c.NowMs + leaseMs)
		g.Bytes(id)
	}
	k.commit(c)
}

// commit ends a change: it removes expired leases and updates the key's expiry.
func (k *leaseKey) commit(c *commands.Ctx) {
	if k.expired > 0 && k.set.RemoveByScore(expiredLeases(c.NowMs)) > 0 {
		didDrop(c, k.name, 0, c.NowMs)
	}
	k.expired = 0
	if k.set.Len() > 0 {
		k.set.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
		old, _ := k.node.Value.ExpireAtMs()
		if at := int64(highestScore(k.set)); at != old {
			c.DB.ExpireAt(k.node, at)
			c.DidExpire(k.name, at)
		}
	}
	c.DB.Modified(k.node)
}

// RL.ACQUIRE key max LEASE ms ID id [WAIT ms]
//
// The reply is 1 if the id has a slot, otherwise 0, the number of slots in use, max,
// and the milliseconds until a slot is free at the latest (0 if one is). An id keeps
// its slot with the new lease even if max is lower now, but max 0 denies every call, with
// -1 for the wait. A call with WAIT is also told how long it has waited.
func rlAcquire(c *commands.Ctx) resp.Value {
	a, refusal := parseAcquire(c)
	if refusal.IsError() {
		return refusal
	}
	k, refusal := findLeases(c, c.Args[1])
	if refusal.IsError() {
		return refusal
	}
	granted, admits := int64(0), k.admits(c, a.id, a.slots)
	if a.waitMs > 0 {
		retryMs := int64(0)
		if !admits {
			retryMs = k.freeAfterMs(c, a.slots)
		}
		if waiting, refusal := waits(c, a.waitMs, retryMs, c.Args[1:2]); waiting {
			return refusal
		}
	}
	if admits {
		if k.node == nil {
			if refusal := reserve(c, c.Args[1]); refusal.IsError() {
				return refusal
			}
		}
		granted = 1
		k.grant(c, a.id, a.leaseMs)
	}
	if c.Settings.LimiterAware {
		c.DB.SetFullness(c.Args[1], stampOf(granted == 0, k.active(), a.slots-k.active()), c.NowMs)
	}
	return resp.Array(waited(c, a.waitMs, append(c.Values(5),
		resp.Int(granted), resp.Int(k.active()), resp.Int(a.slots),
		resp.Int(k.freeAfterMs(c, a.slots))))...)
}

// A slotCall is the parsed arguments of RL.ACQUIRE and RL.RENEW.
type slotCall struct {
	slots, leaseMs int64
	id             []byte
	waitMs         int64 // 0: it does not wait
}

func parseAcquire(c *commands.Ctx) (a slotCall, refusal resp.Value) {
	if a.slots, refusal = parseMax(c.Args[2]); refusal.IsError() {
		return a, refusal
	}
	refusal = a.parseOptions(c.Args[3:], acquireOptions, optLease|optID)
	return a, refusal
}

// parseOptions parses LEASE, ID and WAIT, as far as they are allowed.
func (a *slotCall) parseOptions(args [][]byte, allowed, needed optionSet) (refusal resp.Value) {
	r := optionReader{options: options{args}, allowed: allowed}
	for r.more() {
		var option optionSet
		option, refusal = r.next()
		switch option {
		case optLease:
			a.leaseMs, refusal = r.duration("LEASE")
		case optID:
			a.id, refusal = r.id()
		case optWait:
			a.waitMs, refusal = r.duration("WAIT")
		}
		if refusal.IsError() {
			return refusal
		}
	}
	switch missing := needed &^ r.seen; {
	case missing&optLease != 0:
		return errLeaseMissing
	case missing&optID != 0:
		return errIDMissing
	}
	return resp.None
}

func parseMax(arg []byte) (maxSlots int64, refusal resp.Value) {
	return notNegative(arg, errMaxNumber, errMax)
}

// RL.RENEW key id LEASE ms
//
// The reply is 1, or 0 if the id has no slot.
func rlRenew(c *commands.Ctx) resp.Value {
	leaseMs, refusal := parseRenew(c)
	if refusal.IsError() {
		return refusal
	}
	k, refusal := findLeases(c, c.Args[1])
	switch {
	case refusal.IsError():
		return refusal
	case !k.holds(c, c.Args[2]):
		return resp.Int(0)
	}
	k.grant(c, c.Args[2], leaseMs)
	return resp.Int(1)
}

func parseRenew(c *commands.Ctx) (leaseMs int64, refusal resp.Value) {
	if refusal := checkID(c.Args[2]); refusal.IsError() {
		return 0, refusal
	}
	var a slotCall
	refusal = a.parseOptions(c.Args[3:], renewOptions, optLease)
	return a.leaseMs, refusal
}

// RL.RELEASE key id
//
// The reply is 1, or 0 if the id has no slot.
func rlRelease(c *commands.Ctx) resp.Value {
	if refusal := checkID(c.Args[2]); refusal.IsError() {
		return refusal
	}
	k, refusal := findLeases(c, c.Args[1])
	switch {
	case refusal.IsError():
		return refusal
	case !k.holds(c, c.Args[2]):
		return resp.Int(0)
	}
	k.release(c, c.Args[2])
	return resp.Int(1)
}

// parseSlots parses max LEASE ms.
func (t *term) parseSlots(o *options) (refusal resp.Value) {
	if len(o.rest) < 3 || parseOption(o.rest[1], optLease) == 0 {
		return commands.SyntaxError("SLOTS needs a number and LEASE with a duration")
	}
	t.algo, t.n, t.quotas[0] = &leasesAlgorithm, 1, limiter.Quota{}
	if t.quotas[0].Limit, refusal = parseMax(o.value()); refusal.IsError() {
		return refusal
	}
	o.value()
	t.quotas[0].WindowMs, refusal = parseDuration("LEASE", o.value())
	return refusal
}

// ParseAcquire parses RL.ACQUIRE.
func (l *LimitCall) ParseAcquire(c *commands.Ctx) resp.Value {
	l.Algorithm = leasesAlgorithm.name
	a, refusal := parseAcquire(c)
	if !refusal.IsError() && a.waitMs > 0 {
		return errWaitElsewhere
	}
	l.Count, l.DurationMs, l.ID = a.slots, a.leaseMs, a.id
	return refusal
}

// ParseRenew parses RL.RENEW.
func (l *LimitCall) ParseRenew(c *commands.Ctx) (refusal resp.Value) {
	l.ID, l.Algorithm = c.Args[2], leasesAlgorithm.name
	l.DurationMs, refusal = parseRenew(c)
	return refusal
}

// ParseRelease parses RL.RELEASE.
func (l *LimitCall) ParseRelease(c *commands.Ctx) resp.Value {
	l.ID, l.Algorithm = c.Args[2], leasesAlgorithm.name
	return checkID(l.ID)
}
