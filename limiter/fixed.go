package limiter

// The FIXED algorithm: one counter for each slice of time. Slices have the
// length of the window and are aligned to the epoch; a slice's units all leave
// at its end. So up to twice the limit can be admitted in a window that lies
// across the border of two slices. Every step is O(1).
//
// The state does not say of which window its slice is: what was counted counts
// till the end that was given to it, whatever window the next call names, and
// the end only moves away. A clock that steps back into an earlier slice finds
// the later one still counting.

// Fixed is a key of the FIXED algorithm: Count units in a slice that ends at
// the key's expiry. The zero value is no key.
type Fixed struct {
	Count int64
}

// Decide is State's. The slice ends at expireAtMs.
func (s *Fixed) Decide(nowMs, expireAtMs int64, q Quota, call Call) (d Decision) {
	call = call.canonical()
	d.Limit, d.WindowMs = q.Limit, q.WindowMs
	used, endMs := s.Used(nowMs, expireAtMs), add(floor(nowMs, q.WindowMs), q.WindowMs)
	if used > 0 {
		d.ResetAfterMs = sub(expireAtMs, nowMs)
		endMs = max(endMs, expireAtMs)
	}
	if leave := d.weigh(q.Limit, used, call); leave > 0 {
		d.RetryAfterMs = d.ResetAfterMs
	}
	if d.Allowed > 0 && !call.Peek {
		d.take()
		d.ExpireAtMs = endMs
		d.ResetAfterMs = sub(endMs, nowMs)
	}
	d.NextAfterMs = d.ResetAfterMs
	return d
}

// Apply is State's.
func (s *Fixed) Apply(_ int64, d *Decision) { s.Count = d.Used }

// Used returns the units that count now.
func (s *Fixed) Used(nowMs, expireAtMs int64) int64 {
	if nowMs >= expireAtMs {
		return 0
	}
	return s.Count
}
