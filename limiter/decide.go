package limiter

// Decide answers a call for cost units against every quota at once: it is
// admitted by all of them or denied, and a denied call changes nothing. log is
// the key as it stands, nil if there is none; expireAtMs is its expiry, 0 or
// less if it has none. A key whose expiry has passed (nowMs > expireAtMs)
// counts as empty. Cost 0 (or less) is Peek with cost 1.
//
// The caller has checked Validate and Holds. Otherwise the answer may make no
// sense, but nothing panics, except that there must be a quota. The only error
// is ErrInstant. It allocates nothing and costs O(log held) a quota.
func Decide(log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64) (d Decision, err error) {
	if cost <= 0 {
		return Peek(log, nowMs, expireAtMs, quotas, 1)
	}
	k := view(log, nowMs, expireAtMs)
	windowMs := k.judge(quotas, cost, &d)
	if d.Allowed == 0 {
		return d, nil
	}
	first, last, err := k.run(cost)
	if err != nil {
		return Decision{}, err
	}
	d.Used += cost
	d.Remaining -= cost
	d.ResetAfterMs = add(sub(msOf(last), nowMs), windowMs)

	keepMs := k.keep(quotas)
	d.Units, d.First = cost, first
	d.DropThrough = sub(firstScore(sub(nowMs, keepMs)), 1)
	if k.expired {
		d.DropThrough = max(d.DropThrough, log.Newest())
	}
	d.ExpireAtMs = add(msOf(last), keepMs)
	return d, nil
}

// Peek answers what Decide would answer, with Remaining, Used and ResetAfterMs
// as they stand, and nothing to change. A cost below 1 counts as 1.
func Peek(log Log, nowMs, expireAtMs int64, quotas []Quota, cost int64) (d Decision, err error) {
	cost = max(cost, 1)
	k := view(log, nowMs, expireAtMs)
	k.judge(quotas, cost, &d)
	if d.Allowed > 0 {
		if _, _, err := k.run(cost); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

// key is a log at an instant.
type key struct {
	log            Log
	held           int64 // 0 for no key, and for one whose expiry has passed
	oldest, newest int64 // scores, when held > 0
	nowMs          int64
	expireAtMs     int64 // 0 without expiry
	expired        bool
}

func view(log Log, nowMs, expireAtMs int64) key {
	k := key{log: log, nowMs: nowMs, expireAtMs: max(expireAtMs, 0)}
	if log == nil {
		return k
	}
	held := log.Len()
	if held == 0 {
		return k
	}
	if k.expireAtMs > 0 && nowMs > k.expireAtMs {
		k.expired = true
		return k
	}
	k.held, k.oldest, k.newest = int64(held), log.Oldest(), log.Newest()
	return k
}

// judge sets d, which is zero, to the answer of the binding quota as things
// stand, and returns its window.
func (k *key) judge(quotas []Quota, cost int64, d *Decision) (windowMs int64) {
	if len(quotas) == 0 {
		panic("limiter: a decision needs a quota")
	}
	k.judgeOne(quotas[0], cost, d)
	windowMs = quotas[0].WindowMs
	for _, q := range quotas[1:] {
		var other Decision
		k.judgeOne(q, cost, &other)
		if binds(&other, d) {
			*d, windowMs = other, q.WindowMs
		}
	}
	return windowMs
}

// binds tells whether d takes the place of the binding decision b, that of an
// earlier quota.
func binds(d, b *Decision) bool {
	if d.RetryAfterMs != b.RetryAfterMs {
		if d.RetryAfterMs < 0 || b.RetryAfterMs < 0 {
			return d.RetryAfterMs < 0
		}
		return d.RetryAfterMs > b.RetryAfterMs
	}
	return d.Remaining < b.Remaining
}

func (k *key) judgeOne(q Quota, cost int64, d *Decision) {
	used := k.used(q.WindowMs)
	d.Limit, d.Used, d.Remaining = q.Limit, used, max(0, sub(q.Limit, used))
	if used > 0 {
		d.ResetAfterMs = k.wait(k.newest, q.WindowMs)
	}
	switch {
	case cost > q.Limit:
		d.RetryAfterMs = -1
	case cost > d.Remaining:
		// Of the used units that many must leave, the oldest first. The cost is
		// at most the limit, so they are at most all of them.
		leave := used - (q.Limit - cost)
		d.RetryAfterMs = k.wait(k.unit(k.held-used+leave-1), q.WindowMs)
	default:
		d.Allowed = cost
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
	return int64(k.log.CountAfter(from - 1))
}

func (k *key) unit(rank int64) int64 {
	switch rank {
	case 0:
		return k.oldest
	case k.held - 1:
		return k.newest
	}
	return k.log.UnitAt(int(rank))
}

// wait returns how long a unit that counts in the window goes on counting: till
// it leaves the window, or till the key expires if that is earlier.
func (k *key) wait(score, windowMs int64) int64 {
	leftMs := add(sub(msOf(score), k.nowMs), windowMs)
	if k.expireAtMs > 0 {
		leftMs = min(leftMs, add(sub(k.expireAtMs, k.nowMs), 1))
	}
	return max(1, leftMs) // less only at scores that Holds refuses
}

// run returns the scores that cost new units take.
func (k *key) run(cost int64) (first, last int64, err error) {
	first = mul(k.nowMs, unitsPerMs)
	if k.held > 0 {
		first = max(first, add(k.newest, 1))
	}
	last = add(first, cost-1)
	if first < MinScore || last >= MaxScore {
		return 0, 0, ErrInstant
	}
	return first, last, nil
}

// keep returns for how long after its millisecond a unit of this key is held.
func (k *key) keep(quotas []Quota) int64 {
	keepMs := int64(0)
	for _, q := range quotas {
		keepMs = max(keepMs, q.WindowMs)
	}
	if k.held > 0 && k.expireAtMs > 0 {
		keepMs = max(keepMs, sub(k.expireAtMs, msOf(k.newest)))
	}
	return keepMs
}
