package limiter

// The GCRA algorithm (generic cell rate algorithm) is a bucket of burst units that
// gains one unit each emission interval. It is stored as one number, the instant at
// which it will be full again (the theoretical arrival time, tat). The interval is
// window/limit, rounded up to a microsecond. A window admits at most burst units at
// once plus the window/interval units gained meanwhile: with burst = limit up to twice
// the limit. Every step is O(1).

// GCRA is a key of the GCRA algorithm and the burst of a call. A zero TatUs is no key.
type GCRA struct {
	TatUs int64 // unix microseconds
	Burst int64 // units; see ValidateBurst
}

// Interval returns the microseconds between two units of a quota. Under a limit of 0, which
// gains none, it is the window.
func (q Quota) Interval() int64 {
	us := mul(q.WindowMs, usPerMs)
	return (us-1)/max(q.Limit, 1) + 1
}

// Capacity returns how many units of a burst a quota admits at once: none under a limit of 0.
func (q Quota) Capacity(burst int64) int64 {
	if q.Limit == 0 {
		return 0
	}
	return burst
}

const usPerMs = 1000

// Decide implements State. Limit in the decision is the quota's. Used and Remaining
// count units of the burst, and a cost above the burst never fits.
func (s *GCRA) Decide(nowMs, expireAtMs int64, q Quota, call Call) Decision {
	return s.decide(nowMs, expireAtMs, q, call.canonical())
}

// Apply implements State.
func (s *GCRA) Apply(_ int64, d *Decision) { s.TatUs = d.TatUs }

// Record implements State.
func (s *GCRA) Record(nowMs, expireAtMs int64, q Quota, units int64) (Decision, error) {
	freeUs := MaxWindowMs*usPerMs - s.ahead(nowMs, expireAtMs)
	if units >= ceil(freeUs, q.Interval()) {
		return Decision{}, ErrLong
	}
	return s.decide(nowMs, expireAtMs, q, Call{Cost: units, done: true}), nil
}

// HeldOf implements State. An interval that ends after now counts as a unit.
func (s *GCRA) HeldOf(nowMs, expireAtMs int64, t Taking) int64 {
	return min(t.Units, ceil(s.share(nowMs, expireAtMs, t), t.Interval()))
}

// share returns how many microseconds the units of a taking surely fill ahead of now: those that they would
// fill in an empty bucket.
func (s *GCRA) share(nowMs, expireAtMs int64, t Taking) int64 {
	endUs := add(mul(t.Place, usPerMs), mul(t.Units, t.Interval()))
	return min(s.ahead(nowMs, expireAtMs), max(0, sub(endUs, mul(nowMs, usPerMs))))
}

// GiveBack implements State. Without the taking, later ones would have begun earlier by as much as the bucket
// was not full before each. That is at least what the taking fills ahead of now, since it lies behind its
// instant whatever was given back of others.
func (s *GCRA) GiveBack(nowMs, expireAtMs int64, t Taking, n int64) int64 {
	s.TatUs = sub(s.TatUs, min(mul(n, t.Interval()), s.share(nowMs, expireAtMs, t)))
	aheadUs := s.ahead(nowMs, expireAtMs)
	if aheadUs == 0 {
		return gone
	}
	return add(nowMs, ceil(aheadUs, usPerMs))
}

func (s *GCRA) decide(nowMs, expireAtMs int64, q Quota, call Call) (d Decision) {
	d.Limit, d.WindowMs = q.Limit, q.WindowMs
	intervalUs, nowUs, burst := q.Interval(), mul(nowMs, usPerMs), q.Capacity(s.Burst)
	aheadUs := s.ahead(nowMs, expireAtMs)
	if leave := d.measure(burst, ceil(aheadUs, intervalUs), call); leave > 0 {
		stay := d.Used - leave
		d.RetryAfterMs = untilGone(ceil(aheadUs-stay*intervalUs, usPerMs), nowMs, expireAtMs)
	}
	if d.Allowed > 0 && !call.Peek {
		d.consume()
		aheadUs += d.Units * intervalUs
		d.TatUs, d.PlaceMs = add(nowUs, aheadUs), nowMs
		expireAtMs = add(nowMs, ceil(aheadUs, usPerMs))
		d.ExpireAtMs = expireAtMs
	}
	if d.Used > 0 {
		d.ResetAfterMs = untilGone(ceil(aheadUs, usPerMs), nowMs, expireAtMs)
	}
	if full := min(d.Used, burst) - 1; full >= 0 { // after so many one more remains
		d.NextAfterMs = untilGone(ceil(aheadUs-full*intervalUs, usPerMs), nowMs, expireAtMs)
	}
	return d
}

// LeavesAfter implements Subject. A unit leaves when one more of the burst is available.
func (s *GCRA) LeavesAfter(nowMs, expireAtMs int64, q Quota, n int64) int64 {
	aheadUs, intervalUs := s.ahead(nowMs, expireAtMs), q.Interval()
	stay := ceil(aheadUs, intervalUs) - n
	return untilGone(ceil(aheadUs-stay*intervalUs, usPerMs), nowMs, expireAtMs)
}

// ahead returns in how many microseconds the bucket is full.
func (s *GCRA) ahead(nowMs, expireAtMs int64) int64 {
	if expireAtMs > 0 && nowMs > expireAtMs {
		return 0
	}
	return max(0, sub(s.TatUs, mul(nowMs, usPerMs)))
}

// Throttle is an answer in the terms of redis-cell's CL.THROTTLE: five integers, times
// in whole seconds, rounded up.
type Throttle struct {
	Limited     bool
	Limit       int64 // the burst
	Remaining   int64
	RetryAfterS int64 // -1 unless waiting admits the call
	ResetAfterS int64
}

// Throttle is Decide for CL.THROTTLE and returns the answer in both forms. Quantity 0
// takes nothing and is admitted.
func (s *GCRA) Throttle(nowMs, expireAtMs int64, q Quota, quantity int64) (Throttle, Decision) {
	d := s.decide(nowMs, expireAtMs, q, Call{Cost: quantity, Peek: quantity == 0})
	return d.Throttle(q.Capacity(s.Burst)), d
}

// Throttle returns the decision of GCRA with a burst in the terms of CL.THROTTLE.
func (d *Decision) Throttle(burst int64) Throttle {
	t := Throttle{
		Limited: d.RetryAfterMs != 0, Limit: burst, Remaining: d.Remaining,
		RetryAfterS: -1, ResetAfterS: ceil(d.ResetAfterMs, 1000),
	}
	if d.RetryAfterMs > 0 {
		t.RetryAfterS = ceil(d.RetryAfterMs, 1000)
	}
	return t
}
