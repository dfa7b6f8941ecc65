package rl

import (
	"math"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

// The state of LOG is a sorted set with a member for each entry: its score, or its score and units; see
// store/zset/weights.go.
var logAlgorithm = algorithm{
	name: "LOG", redisType: "zset", hasType: isZSet, foreignError: errForeignSet,
	hasState:   func(_ *commands.Ctx, n *store.Node) bool { return isUnitLog(store.ZSetOf(n)) },
	open:       openLog,
	validate:   func(t *term) error { return limiter.Validate(t.quotas[:t.n], t.Call) },
	multiQuota: true,
	errors: []errorReply{{
		limiter.ErrLimitLarge,
		resp.Error("ERR limit must be at most " + strconv.FormatInt(limiter.MaxUnits, 10) + insteadOfLog),
	}},
	validHeld: func(h *heldTerm) bool {
		return h.Units <= limiter.MaxUnits && h.Place >= limiter.MinScore && h.Place < limiter.MaxScore &&
			h.last() < limiter.MaxScore
	},
	next: func(c *commands.Ctx, t *term) {
		q := limiter.Quota{Limit: t.d.Limit, WindowMs: t.d.WindowMs}
		t.d.NextAfterMs = limiter.NextAfter(t.log.log(), c.NowMs, t.log.expireAtMs, q)
	},
	replay: func(t *term) replayState { return &logReplay{quotas: t.quotas[:t.n]} },
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		set := store.ZSetOf(n)
		expireAtMs, expires := n.Value.ExpireAtMs()
		keepMs := limiter.MaxWindowMs
		if expires {
			keepMs = limiter.Keep(set, c.NowMs, expireAtMs, 0)
		}
		return keyInfo{
			used:   resp.Int(limiter.Count(set, c.NowMs, expireAtMs, keepMs)),
			oldest: resp.Int(set.Oldest() / 1000), newest: resp.Int(set.Newest() / 1000),
		}
	},
	units: func(_ *commands.Ctx, n *store.Node) int64 { return store.ZSetOf(n).Units() },
}

// insteadOfLog ends the errors of what is too large for a log.
const insteadOfLog = "; use ALGO BUCKETS or ALGO GCRA for more"

// errLogFull refuses an entry beyond rl-log-max-units.
func errLogFull(most int64) resp.Value {
	return resp.Error("ERR key has as many entries as rl-log-max-units allows (" +
		strconv.FormatInt(most, 10) +
		"): CONFIG SET rl-log-max-units allows more, ALGO BUCKETS and ALGO GCRA need none")
}

func isZSet(n *store.Node) bool { return store.ZSetOf(n) != nil }

func isUnitLog(set *zset.Set) bool {
	return set.IsLog() && limiter.HoldsScores(set.Oldest(), set.Newest())
}

func openLog(_ *commands.Ctx, t *term) resp.Value {
	t.log = logKey{name: t.name}
	t.content = &t.log
	return t.log.view(t.node)
}

func (k *logKey) decide(c *commands.Ctx, t *term) resp.Value {
	var err error
	t.d, err = limiter.DecideCall(k.log(), c.NowMs, k.expireAtMs, t.quotas[:t.n], t.Call)
	return k.roomFor(c, t, err)
}

func (k *logKey) record(c *commands.Ctx, t *term, units int64) resp.Value {
	change, err := limiter.Record(k.log(), c.NowMs, k.expireAtMs, t.quotas[0].WindowMs, units)
	t.d = limiter.Decision{Change: change}
	return k.roomFor(c, t, err)
}

// roomFor returns the reply that refuses the change of t.d, if any.
func (k *logKey) roomFor(c *commands.Ctx, t *term, err error) resp.Value {
	switch {
	case err != nil:
		return rlError(err)
	case t.d.Units == 0:
		return resp.None
	}
	return k.makeRoom(c, &t.d.Change)
}

func (k *logKey) subject() limiter.Subject { return limiter.Units{Log: k.log()} }

func (k *logKey) apply(c *commands.Ctx, t *term) { k.carryOut(c, &t.d.Change) }

func (k *logKey) held(c *commands.Ctx, _ *term, h *heldTerm) int64 {
	return k.heldUnits(c, h.Place, h.last())
}

func (k *logKey) giveBack(c *commands.Ctx, _ *term, h *heldTerm, n int64) {
	k.removeHeld(c, n, h.held, h.Place, h.last())
}

func (k *logKey) refund(c *commands.Ctx, _ *term, n int64) resp.Value {
	return resp.Int(k.removeNewest(c, n, limiter.MinScore, limiter.MaxScore-1))
}

// A logKey is a key that holds a log or does not exist yet. Only carryOut and
// removeNewest may change a log: they maintain its expiry and mark watchers.
type logKey struct {
	name       []byte
	node       *store.Node // nil: the key does not exist
	set        *zset.Set   // nil if node is
	expireAtMs int64       // 0: none
}

// findLog looks up the key called name and sets k, which must be zero.
func findLog(c *commands.Ctx, k *logKey, name []byte) (refusal resp.Value) {
	k.name = name
	n := c.DB.Find(name, c.NowMs)
	if refusal = k.view(n); refusal.IsError() {
		return logAlgorithm.wrongState(c, n)
	}
	return refusal
}

// view sets k to the log in n, which is nil if the key does not exist.
func (k *logKey) view(n *store.Node) (refusal resp.Value) {
	if n == nil {
		return resp.None
	}
	set := store.ZSetOf(n)
	if set == nil || !isUnitLog(set) {
		return errOtherState
	}
	k.node, k.set = n, set
	k.expireAtMs, _ = n.Value.ExpireAtMs()
	return resp.None
}

// log returns the log for package limiter: a nil interface if the key does not exist.
func (k *logKey) log() limiter.Log {
	if k.set == nil {
		return nil
	}
	return k.set
}

// makeRoom is called when nothing is changed yet. It returns the reply if the key has rl-log-max-units
// entries.
func (k *logKey) makeRoom(c *commands.Ctx, change *limiter.Change) resp.Value {
	switch {
	case k.node == nil:
		return resp.None
	case int64(k.set.Len()) < c.Settings.RLLogMaxUnits || change.Score == k.set.Newest():
		return resp.None
	}
	kept := zset.ScoreRange{Min: float64(change.DropThrough), MinOpen: true, Max: math.Inf(1)}
	if int64(k.set.CountByScore(kept)) < c.Settings.RLLogMaxUnits {
		return resp.None
	}
	return errLogFull(c.Settings.RLLogMaxUnits)
}

// carryOut carries a change out. If there is no key the caller has called reserve.
func (k *logKey) carryOut(c *commands.Ctx, change *limiter.Change) {
	if k.node == nil {
		k.node, k.set = c.DB.AddZSet(k.name)
	}
	dropped := k.set.DropThrough(change.DropThrough)
	if dropped > 0 {
		didDrop(c, k.name, 0, change.DropThrough)
	}
	emptied := k.set.Len() == 0
	if !emptied && k.set.Newest() == change.Score {
		emptied = k.setUnits(c, change.Score, k.set.UnitsOf(change.Score)+change.Units)
	} else {
		k.set.Append(change.Score, change.Units)
		if c.Group() != nil {
			didEntry(c, k.name, k.set, change.Score)
		}
	}
	k.set.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
	c.DB.ExpireAt(k.node, change.ExpireAtMs)
	c.DB.Touch(k.node) // not Modified, because the set cannot be empty
	if c.Group() != nil && (emptied || change.ExpireAtMs != k.expireAtMs) {
		c.DidExpire(k.name, change.ExpireAtMs)
	}
	k.expireAtMs = change.ExpireAtMs
}

// setUnits changes the units of an entry, to at least 1, and records that its member was replaced. It reports
// whether it was the only one: then the key has lost its expiry where the record is carried out.
func (k *logKey) setUnits(c *commands.Ctx, score, units int64) (only bool) {
	didRemoveEntry(c, k.name, k.set, score)
	k.set.SetUnits(score, units)
	didEntry(c, k.name, k.set, score)
	return k.set.Len() == 1
}

// removeNewest removes the newest n of the units with scores from first to last that
// still count for some window, and returns their number. The key's retention does not
// change.
func (k *logKey) removeNewest(c *commands.Ctx, n, first, last int64) (removed int64) {
	held := k.heldUnits(c, first, last)
	if removed = min(n, held); removed > 0 {
		k.removeHeld(c, removed, held, first, last)
	}
	return removed
}

// removeHeld is removeNewest if so many units are held. It removes at least one.
func (k *logKey) removeHeld(c *commands.Ctx, removed, held, first, last int64) {
	var keepMs int64
	if k.expireAtMs != 0 {
		keepMs = limiter.Keep(k.set, c.NowMs, k.expireAtMs, 0)
	}
	rest := int64(0) // what stays of the first entry
	if first == last {
		rest = held - removed
	} else {
		through := k.set.Units() - k.set.UnitsAfter(last)
		first, last = k.set.UnitAt(through-removed), k.set.UnitAt(through-1)
		rest = k.set.UnitsAfter(first-1) - (k.set.Units() - through) - removed
	}
	emptied := false
	if rest > 0 {
		emptied = k.setUnits(c, first, rest)
		first++
	}
	if first <= last {
		removes := zset.ScoreRange{Min: float64(first), Max: float64(last)}
		switch k.set.CountByScore(removes) {
		case k.set.Len():
		case 1:
			didRemoveEntry(c, k.name, k.set, last)
		default:
			didDrop(c, k.name, first, last)
		}
		k.set.RemoveByScore(removes)
	}
	if k.set.Len() == 0 {
		c.DidCall("DEL", k.name)
	} else if k.expireAtMs != 0 {
		if at := limiter.ExpireAt(k.set.Newest(), keepMs); emptied || k.expireAtMs != at {
			k.expireAtMs = at
			c.DB.ExpireAt(k.node, at)
			c.DidExpire(k.name, at)
		}
	}
	c.DB.Modified(k.node)
	if k.set.Len() == 0 {
		k.node, k.set, k.expireAtMs = nil, nil, 0
	}
}

// heldUnits returns the number of the units with scores from first to last that still count for some window.
func (k *logKey) heldUnits(c *commands.Ctx, first, last int64) int64 {
	if k.set == nil {
		return 0
	}
	if k.expireAtMs != 0 {
		keepMs := limiter.Keep(k.set, c.NowMs, k.expireAtMs, 0)
		first = max(first, limiter.DropThrough(c.NowMs, keepMs)+1)
	}
	switch {
	case first > last:
		return 0
	case first == last:
		return k.set.UnitsOf(first)
	}
	return k.set.UnitsAfter(first-1) - k.set.UnitsAfter(last)
}

// A logReplay is the log of a replay.
type logReplay struct {
	quotas []limiter.Quota
	set    zset.Set
}

// Decide decides by all quotas, and not by q. What a log refuses is denied whatever the wait.
func (r *logReplay) Decide(nowMs, expireAtMs int64, _ limiter.Quota, call limiter.Call) limiter.Decision {
	var log limiter.Log
	if r.set.Len() > 0 {
		log = &r.set
	}
	err := limiter.Validate(r.quotas, call)
	var d limiter.Decision
	if err == nil {
		d, err = limiter.DecideCall(log, nowMs, expireAtMs, r.quotas, call)
	}
	if err != nil {
		return limiter.Decision{RetryAfterMs: -1}
	}
	return d
}

func (r *logReplay) Apply(_ int64, d *limiter.Decision) {
	r.set.DropThrough(d.DropThrough)
	r.set.AddUnits(d.Score, d.Units)
}

// allowPlain handles RL.ALLOW key limit window, the most frequent form.
func allowPlain(c *commands.Ctx) resp.Value {
	var quotas [1]limiter.Quota
	var refusal resp.Value
	if quotas[0], refusal = parseQuota(c.Args[2], c.Args[3]); refusal.IsError() {
		return refusal
	}
	call := limiter.Call{Cost: 1}
	if err := limiter.Validate(quotas[:], call); err != nil {
		return logAlgorithm.refuse(err)
	}
	var k logKey
	if refusal := findLog(c, &k, c.Args[1]); refusal.IsError() {
		return refusal
	}
	d, err := limiter.DecideCall(k.log(), c.NowMs, k.expireAtMs, quotas[:], call)
	if err != nil {
		return rlError(err)
	}
	if d.Units > 0 {
		if refusal := k.makeRoom(c, &d.Change); refusal.IsError() {
			return refusal
		}
		if k.node == nil {
			if refusal := reserve(c, k.name); refusal.IsError() {
				return refusal
			}
		}
		k.carryOut(c, &d.Change)
	}
	countAllow(c, &logAlgorithm, c.Args[1], call, &d, false)
	markFullness(c, c.Args[1], &d)
	return DecisionReply(c, &d, 0)
}
