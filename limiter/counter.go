package limiter

import "math/bits"

// The COUNTER algorithm has two weighted counters. Time is cut into slices of the
// window's length, aligned to the epoch, and the units of the current and the previous
// slice are counted. The previous units are assumed to have come evenly: when elapsed
// of the current slice has passed, p*(window-elapsed)/window of p units still count,
// rounded up. If they came late in their slice, more than the limit is admitted, up to
// about twice as much; if early, less. Every step is O(1).
//
// Most libraries and gateways use this form. See Cloudflare, "How we built rate
// limiting capable of scaling to millions of domains" (2017).
//
// Units are never counted into a slice before the newest. If the clock steps back, they
// go into the newest slice, and the previous slice counts in full.

// Counter is a key of the COUNTER algorithm. If both counts are 0 there is no key.
type Counter struct {
	WindowMs int64 // of the quota
	BeginMs  int64 // start of the newest slice, a multiple of WindowMs
	Count    int64 // units in it
	Previous int64 // units in the previous slice
}

// Valid reports whether s is a state that Apply can produce.
func (s *Counter) Valid() bool {
	return s.WindowMs >= 1 && s.WindowMs < MaxWindowMs && floor(s.BeginMs, s.WindowMs) == s.BeginMs &&
		s.Count >= 0 && s.Previous >= 0
}

// Decide implements State. The quota's window must be s's.
func (s *Counter) Decide(nowMs, expireAtMs int64, q Quota, call Call) (d Decision) {
	call = call.canonical()
	d.Limit, d.WindowMs = q.Limit, q.WindowMs
	now := s.at(nowMs, expireAtMs)
	used := now.used(nowMs)
	leave := d.measure(q.Limit, used, call)
	if leave > 0 {
		d.RetryAfterMs = untilGone(now.leaves(nowMs, used, leave), nowMs, expireAtMs)
	}
	if d.Allowed > 0 && !call.Peek {
		d.consume()
		now.Count = add(now.Count, d.Units)
		expireAtMs = add(now.BeginMs, 2*s.WindowMs)
		d.ExpireAtMs, d.PlaceMs = expireAtMs, now.BeginMs
	}
	if d.Used > 0 {
		d.ResetAfterMs = untilGone(now.leaves(nowMs, d.Used, d.Used), nowMs, expireAtMs)
	}
	if n := q.growsAfter(d.Used); n > 0 {
		d.NextAfterMs = untilGone(now.leaves(nowMs, d.Used, n), nowMs, expireAtMs)
	}
	return d
}

// LeavesAfter implements Subject.
func (s *Counter) LeavesAfter(nowMs, expireAtMs int64, _ Quota, n int64) int64 {
	now := s.at(nowMs, expireAtMs)
	return untilGone(now.leaves(nowMs, now.used(nowMs), n), nowMs, expireAtMs)
}

// Apply implements State.
func (s *Counter) Apply(nowMs int64, d *Decision) {
	*s = s.at(nowMs, 0)
	s.Count = add(s.Count, d.Units)
}

// Held returns the units of both slices, whether or not they still count.
func (s *Counter) Held() int64 { return add(s.Count, s.Previous) }

// Oldest returns the first millisecond that the slices with units cover.
func (s *Counter) Oldest() int64 {
	if s.Previous > 0 {
		return sub(s.BeginMs, s.WindowMs)
	}
	return s.BeginMs
}

// Newest returns the last millisecond of the newest slice.
func (s *Counter) Newest() int64 { return add(s.BeginMs, s.WindowMs-1) }

// Used returns the units that count now.
func (s *Counter) Used(nowMs, expireAtMs int64) int64 {
	now := s.at(nowMs, expireAtMs)
	return now.used(nowMs)
}

// Record implements State.
func (s *Counter) Record(nowMs, expireAtMs int64, q Quota, units int64) (Decision, error) {
	return s.Decide(nowMs, expireAtMs, q, Call{Cost: units, done: true}), nil
}

// HeldOf implements State. A unit counts as long as a part of it does.
func (s *Counter) HeldOf(nowMs, expireAtMs int64, t Taking) int64 {
	now := s.at(nowMs, expireAtMs)
	if count := now.slice(t.Place); count != nil {
		return min(t.Units, *count)
	}
	return 0
}

// GiveBack implements State.
func (s *Counter) GiveBack(_, expireAtMs int64, t Taking, n int64) int64 {
	if count := s.slice(t.Place); count != nil {
		*count -= n
	}
	return s.rest(expireAtMs)
}

// slice returns the count of the slice that begins at an instant, or nil.
func (s *Counter) slice(beginMs int64) *int64 {
	switch beginMs {
	case s.BeginMs:
		return &s.Count
	case sub(s.BeginMs, s.WindowMs):
		return &s.Previous
	}
	return nil
}

func (s *Counter) rest(expireAtMs int64) int64 {
	if s.Held() == 0 {
		return gone
	}
	return expireAtMs
}

// Refund removes the newest n units of those that still count at least in part. It
// returns how many were removed and the key's new expiry, or -1 if no unit is left.
func (s *Counter) Refund(nowMs, expireAtMs, n int64) (removed, newExpireAtMs int64) {
	now := s.at(nowMs, 0)
	if now.BeginMs != s.BeginMs { // the newest slice has become the previous one
		removed = min(n, now.Previous)
		s.Count, s.Previous = now.Previous-removed, 0
		return removed, s.rest(expireAtMs)
	}
	removed = min(n, s.Count)
	s.Count -= removed
	part := min(n-removed, s.Previous)
	s.Previous -= part
	return removed + part, s.rest(expireAtMs)
}

// at returns the state with the slice of an instant as its newest.
func (s *Counter) at(nowMs, expireAtMs int64) Counter {
	now := Counter{WindowMs: s.WindowMs, BeginMs: floor(nowMs, s.WindowMs)}
	switch {
	case s.Count == 0 && s.Previous == 0, expireAtMs > 0 && nowMs > expireAtMs:
	case now.BeginMs <= s.BeginMs:
		return *s
	case sub(now.BeginMs, s.BeginMs) == s.WindowMs:
		now.Previous = s.Count
	}
	return now
}

// used returns the units that count. s must be a result of at.
func (s *Counter) used(nowMs int64) int64 {
	elapsed := min(max(sub(nowMs, s.BeginMs), 0), s.WindowMs)
	return add(s.Count, mulDiv(s.Previous, s.WindowMs-elapsed, s.WindowMs, s.WindowMs-1))
}

// leaves returns how long it takes until n of the units used no longer count.
func (s *Counter) leaves(nowMs, used, n int64) int64 {
	stay, slice, beginMs := used-n-s.Count, s.Previous, s.BeginMs
	if stay < 0 { // not in this slice: its units become the previous ones
		stay, slice, beginMs = used-n, s.Count, add(s.BeginMs, s.WindowMs)
	}
	// Of slice, stay units count when (window-elapsed)*slice <= stay*window.
	elapsed := s.WindowMs
	if slice > 0 {
		elapsed -= min(mulDiv(min(stay, slice), s.WindowMs, slice, 0), s.WindowMs)
	}
	return sub(add(beginMs, elapsed), nowMs)
}

// mulDiv returns (a*b+more)/divisor for non-negative numbers without intermediate
// overflow. The quotient must be an int64.
func mulDiv(a, b, divisor, more int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	low, carry := bits.Add64(low, uint64(more), 0)
	quotient, _ := bits.Div64(high+carry, low, uint64(divisor))
	return int64(quotient)
}
