package limiter

// The GCRA algorithm (generic cell rate algorithm): a bucket of burst units
// that fills by one unit each emission interval, kept as one number, the
// instant at which it will be full again (the theoretical arrival time, tat).
// The interval is window/limit, rounded up to a microsecond. A window admits at
// most burst units at once and window/interval that fill in meanwhile: with
// burst = limit up to twice the limit. Every step is O(1).

// GCRA is a key of the GCRA algorithm. The zero value is no key.
type GCRA struct {
	TatUs int64 // unix microseconds
}

// Interval returns the microseconds between two units of a quota.
func (q Quota) Interval() int64 {
	us := mul(q.WindowMs, usPerMs)
	return (us-1)/q.Limit + 1
}

const usPerMs = 1000

// Decide answers a call, and returns the key as it is after an admitted one.
// expireAtMs is the key's expiry, 0 or less if it has none. The limit that the
// decision names is the quota's; Used and Remaining count units of the burst,
// and what can never fit is a cost above it. The caller has checked
// ValidateBurst.
func (s GCRA) Decide(nowMs, expireAtMs int64, q Quota, burst int64, call Call) (Decision, GCRA) {
	return s.decide(nowMs, expireAtMs, q, burst, call.canonical())
}

func (s GCRA) decide(nowMs, expireAtMs int64, q Quota, burst int64, call Call) (d Decision, next GCRA) {
	d.Limit, d.WindowMs = q.Limit, q.WindowMs
	intervalUs, nowUs := q.Interval(), mul(nowMs, usPerMs)
	aheadUs := int64(0)
	if expireAtMs <= 0 || nowMs <= expireAtMs {
		aheadUs = max(0, sub(s.TatUs, nowUs))
	}
	if leave := d.weigh(burst, ceil(aheadUs, intervalUs), call); leave > 0 {
		want := burst - (d.Used - leave)
		d.RetryAfterMs = untilGone(ceil(aheadUs-(burst-want)*intervalUs, usPerMs), nowMs, expireAtMs)
	}
	if d.Allowed > 0 && !call.Peek {
		d.take()
		aheadUs += d.Units * intervalUs
		next.TatUs = add(nowUs, aheadUs)
		expireAtMs = add(nowMs, ceil(aheadUs, usPerMs))
		d.ExpireAtMs = expireAtMs
	}
	if d.Used > 0 {
		d.ResetAfterMs = untilGone(ceil(aheadUs, usPerMs), nowMs, expireAtMs)
		full := min(d.Used, burst) - 1 // so many used is one more remaining
		d.NextAfterMs = untilGone(ceil(aheadUs-full*intervalUs, usPerMs), nowMs, expireAtMs)
	}
	return d, next
}

// Throttle answers in the terms of redis-cell's CL.THROTTLE: five integers,
// times in whole seconds, rounded up.
type Throttle struct {
	Limited     bool
	Limit       int64 // the burst
	Remaining   int64
	RetryAfterS int64 // -1 unless the wait makes the call pass
	ResetAfterS int64
	Units       int64 // as in Change
	ExpireAtMs  int64
}

// Throttle is Decide for CL.THROTTLE. Quantity 0 takes nothing and passes.
func (s GCRA) Throttle(nowMs, expireAtMs int64, q Quota, burst, quantity int64) (Throttle, GCRA) {
	d, next := s.decide(nowMs, expireAtMs, q, burst, Call{Cost: quantity, Peek: quantity == 0})
	t := Throttle{
		Limited: d.RetryAfterMs != 0, Limit: burst, Remaining: d.Remaining,
		RetryAfterS: -1, ResetAfterS: ceil(d.ResetAfterMs, 1000), Units: d.Units, ExpireAtMs: d.ExpireAtMs,
	}
	if d.RetryAfterMs > 0 {
		t.RetryAfterS = ceil(d.RetryAfterMs, 1000)
	}
	return t, next
}
