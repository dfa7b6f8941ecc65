package limiter

// The LOG algorithm is described in the package comment. Everything here costs O(log
// entries) for each quota and allocates nothing.

// Log is what a decision reads of a key: entries with distinct scores in ascending
// order, each with a number of units. On an empty Log only Len and Units are called.
type Log interface {
	Len() int                     // number of entries
	Units() int64                 // of all entries
	UnitsAfter(score int64) int64 // of the entries above score
	UnitAt(rank int64) int64      // the score of the unit with rank 0 <= rank < Units
	Oldest() int64                // lowest score
	Newest() int64                // highest score
}

// Scores of a log are in MinScore <= score < MaxScore. A number below MinScore (3 March
// 1973) is more likely a time in seconds or milliseconds that another limiter wrote.
// From MaxScore (5 June 2255) on a sorted set's float64 cannot represent every integer.
const (
	MinScore int64 = 100_000_000_000_000
	MaxScore int64 = 1 << 53
)

// Holds reports whether RL.ALLOW can have written log: it is empty, or its oldest and
// newest scores are in [MinScore, MaxScore).
func Holds(log Log) bool {
	return log == nil || log.Len() == 0 || HoldsScores(log.Oldest(), log.Newest())
}

// HoldsScores is Holds for the oldest and newest score of a log that is not empty.
func HoldsScores(oldest, newest int64) bool { return oldest >= MinScore && newest < MaxScore }

// Decide answers a call for cost units against all quotas at once: all admit it, or it
// is denied and changes nothing. log is the key, nil if there is none. expireAtMs is
// its expiry, 0 or less if it has none. A key whose expiry has passed (nowMs >
// expireAtMs) counts as empty. Cost 0 (or less) is Peek with cost 1.
//
// The caller has checked Validate and Holds. Otherwise the answer may be meaningless;
// Decide panics only without a quota. It fails with ErrInstant or ErrSum.
func Decide(log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64) (Decision, error) {
	return DecideCall(log, nowMs, expireAtMs, quotas, Call{Cost: cost})
}

// Peek returns what Decide would answer, with the current Remaining, Used and
// ResetAfterMs, and no change. A cost below 1 counts as 1.
func Peek(log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64) (Decision, error) {
	return DecideCall(log, nowMs, expireAtMs, quotas, Call{Cost: cost, Peek: true})
}

// DecideCall is Decide for a Call.
func DecideCall(log Log, nowMs, expireAtMs int64, quotas []Quota, call Call) (d Decision, err error) {
	call = call.canonical()
	var k key
	k.view(log, nowMs, expireAtMs)
	k.judge(quotas, call, &d)
	if d.Allowed == 0 {
		return d, nil
	}
	if call.Peek {
		err = k.record(longest(quotas), d.Allowed, &Change{})
	} else {
		err = k.record(longest(quotas), d.Allowed, &d.Change)
		d.consume()
		d.ResetAfterMs = add(sub(msOf(d.Score), nowMs), d.WindowMs)
	}
	if err != nil {
		return Decision{}, err
	}
	return d, nil
}

// Record returns the change that adds units without checking any limit, for work
// already done. windowMs is the window to hold them for, as in a call.
func Record(log Log, nowMs, expireAtMs, windowMs, units int64) (c Change, err error) {
	var k key
	k.view(log, nowMs, expireAtMs)
	err = k.record(windowMs, units, &c)
	return c, err
}

// NextAfter returns Decision.NextAfterMs for a log and a quota.
func NextAfter(log Log, nowMs, expireAtMs int64, q Quota) int64 {
	var k key
	k.view(log, nowMs, expireAtMs)
	used := k.used(q.WindowMs)
	n := q.growsAfter(used)
	if n == 0 {
		return 0
	}
	return k.leaves(used, n, q.WindowMs)
}

// Count returns how many units of a log count in a window.
func Count(log Log, nowMs, expireAtMs, windowMs int64) int64 {
	var k key
	k.view(log, nowMs, expireAtMs)
	return k.used(windowMs)
}

// Keep returns the retention of a log: how long a unit is held after its own
// millisecond. That is the longer of the longest window of the call, 0 if it has none,
// and what the key's expiry leaves its newest unit. Call Keep before removing units.
func Keep(log Log, nowMs, expireAtMs, windowMs int64) int64 {
	if log == nil || expireAtMs <= 0 || nowMs > expireAtMs || log.Len() == 0 {
		return windowMs
	}
	return max(windowMs, sub(expireAtMs, msOf(log.Newest())))
}

// DropThrough returns the highest score that a log with this retention no longer needs.
func DropThrough(nowMs, keepMs int64) int64 { return sub(firstScore(sub(nowMs, keepMs)), 1) }

// ExpireAt returns the expiry of a log with this newest score and retention.
func ExpireAt(newest, keepMs int64) int64 { return add(msOf(newest), keepMs) }

// key is a log at an instant.
type key struct {
	log            Log
	held           int64 // units; 0 for no key, or an expired one
	oldest, newest int64 // scores, if held > 0
	nowMs          int64
	expireAtMs     int64 // 0 without expiry
	expired        bool
}

// view fills k, which must be zero. Returning it instead would make a decision wait for
// the copy of many words just written.
func (k *key) view(log Log, nowMs, expireAtMs int64) {
	k.log, k.nowMs, k.expireAtMs = log, nowMs, max(expireAtMs, 0)
	if log == nil {
		return
	}
	held := log.Units()
	if held == 0 {
		return
	}
	if k.expireAtMs > 0 && nowMs > k.expireAtMs {
		k.expired = true
		return
	}
	k.held, k.oldest, k.newest = held, log.Oldest(), log.Newest()
}

// judge sets d, which must be zero, to the current answer of the binding quota. AtMost
// grants what the binding quota has left: among quotas that all admit a unit, it has
// the least.
func (k *key) judge(quotas []Quota, call Call, d *Decision) {
	if len(quotas) == 0 {
		panic("limiter: a decision needs a quota")
	}
	k.judgeOne(quotas[0], call, d)
	for _, q := range quotas[1:] {
		var other Decision
		k.judgeOne(q, call, &other)
		if other.Binds(d) {
			*d = other
		}
	}
}

func (k *key) judgeOne(q Quota, call Call, d *Decision) {
	d.Limit, d.WindowMs = q.Limit, q.WindowMs
	used := k.used(q.WindowMs)
	leave := d.measure(q.Limit, used, call)
	if used > 0 {
		d.ResetAfterMs = k.wait(k.newest, q.WindowMs)
	}
	if leave > 0 {
		// The cost is at most the limit, so leave is at most used.
		d.RetryAfterMs = k.leaves(used, leave, q.WindowMs)
	}
}

// used counts the units in a window.
func (k *key) used(windowMs int64) int64 {
	from := firstScore(sub(k.nowMs, windowMs))
	switch {
	case k.held == 0 || k.newest < from:
		return 0
	case k.oldest >= from:
		return k.held
	}
	return k.log.UnitsAfter(from - 1)
}

// leaves returns how long it takes until n of the units used in a window have
// left it, the oldest first.
func (k *key) leaves(used, n, windowMs int64) int64 {
	return k.wait(k.unit(k.held-used+n-1), windowMs)
}

func (k *key) unit(rank int64) int64 {
	switch rank {
	case 0:
		return k.oldest
	case k.held - 1:
		return k.newest
	}
	return k.log.UnitAt(rank)
}

// wait returns how long a unit that counts in the window still does: until it leaves
// the window or the key expires. (Only scores that Holds refuses yield less than 1.)
func (k *key) wait(score, windowMs int64) int64 {
	return untilGone(add(sub(msOf(score), k.nowMs), windowMs), k.nowMs, k.expireAtMs)
}

// record sets c to the change that adds units and drops those no longer needed.
func (k *key) record(windowMs, units int64, c *Change) error {
	score := k.place()
	if score < MinScore || score >= MaxScore {
		return ErrInstant
	}
	keepMs := k.keep(windowMs)
	drop := DropThrough(k.nowMs, keepMs)
	switch {
	case k.expired:
		drop = max(drop, k.log.Newest())
	case units > sub(MaxUnits, k.held) && units > sub(MaxUnits, k.heldAfter(drop)):
		return ErrSum
	}
	*c = Change{Units: units, Score: score, DropThrough: drop, ExpireAtMs: ExpireAt(score, keepMs)}
	return nil
}

// place returns the score of the entry for new units: a new one in the millisecond of
// now, or that of the newest entry if that is later. If that millisecond has no score
// left, it is the newest entry.
func (k *key) place() int64 {
	score := mul(k.nowMs, entriesPerMs)
	if k.held == 0 || score > k.newest {
		return score
	}
	if next := add(k.newest, 1); msOf(next) == msOf(k.newest) {
		return next
	}
	return k.newest
}

// heldAfter returns the number of units above a score.
func (k *key) heldAfter(score int64) int64 {
	if k.held == 0 || k.newest <= score {
		return 0
	}
	return k.log.UnitsAfter(score)
}

func (k *key) keep(windowMs int64) int64 {
	if k.held > 0 && k.expireAtMs > 0 {
		windowMs = max(windowMs, sub(k.expireAtMs, msOf(k.newest)))
	}
	return windowMs
}
