package limiter

// The FIXED algorithm has one counter for each slice of time. Slices have the length of
// the window and are aligned to the epoch, or they are those of a calendar. All units of
// a slice leave at its end, so a window across a slice border can admit up to twice the
// limit. Every step is O(1).
//
// The state does not record the window of its slice. Units count until the end given to
// them, whatever window the next call names, and the end only moves forwards. If the
// clock steps back into an earlier slice, the later one still counts.

// Fixed is a key of the FIXED algorithm: Count units in a slice that ends at the key's
// expiry. The zero value is no key.
type Fixed struct {
	Count int64
}

// Decide implements State. The slice ends at expireAtMs. WindowMs of the decision is the
// length of the slice that contains nowMs.
func (s *Fixed) Decide(nowMs, expireAtMs int64, q Quota, call Call) (d Decision) {
	call = call.canonical()
	startMs, endMs := q.slice(nowMs)
	d.Limit, d.WindowMs = q.Limit, sub(endMs, startMs)
	used := s.Used(nowMs, expireAtMs)
	if used > 0 {
		d.ResetAfterMs = sub(expireAtMs, nowMs)
		endMs = max(endMs, expireAtMs)
	}
	if leave := d.measure(q.Limit, used, call); leave > 0 {
		d.RetryAfterMs = d.ResetAfterMs
	}
	if d.Allowed > 0 && !call.Peek {
		d.consume()
		d.ExpireAtMs, d.PlaceMs = endMs, endMs
		d.ResetAfterMs = sub(endMs, nowMs)
	}
	if q.Limit > 0 {
		d.NextAfterMs = d.ResetAfterMs
	}
	return d
}

// Apply implements State.
func (s *Fixed) Apply(_ int64, d *Decision) { s.Count = d.Used }

// Record implements State.
func (s *Fixed) Record(nowMs, expireAtMs int64, q Quota, units int64) (Decision, error) {
	return s.Decide(nowMs, expireAtMs, q, Call{Cost: units, done: true}), nil
}

// HeldOf implements State.
func (s *Fixed) HeldOf(nowMs, expireAtMs int64, t Taking) int64 {
	if t.Place != expireAtMs {
		return 0
	}
	return min(t.Units, s.Used(nowMs, expireAtMs))
}

// GiveBack implements State.
func (s *Fixed) GiveBack(_, expireAtMs int64, _ Taking, n int64) int64 {
	return s.without(n, expireAtMs)
}

// Refund removes n units, or as many as count now.
func (s *Fixed) Refund(nowMs, expireAtMs, n int64) (removed, newExpireAtMs int64) {
	removed = min(n, s.Used(nowMs, expireAtMs))
	return removed, s.without(removed, expireAtMs)
}

func (s *Fixed) without(n, expireAtMs int64) int64 {
	if s.Count -= n; s.Count == 0 {
		return gone
	}
	return expireAtMs
}

// LeavesAfter implements Subject. All units leave together.
func (s *Fixed) LeavesAfter(nowMs, expireAtMs int64, _ Quota, _ int64) int64 {
	return sub(expireAtMs, nowMs)
}

// Used returns the units that count now.
func (s *Fixed) Used(nowMs, expireAtMs int64) int64 {
	if nowMs >= expireAtMs {
		return 0
	}
	return s.Count
}
