package limiter

// Leaky is the state of a leaky bucket, as a meter: a unit fills it up, and the limit leaks out
// in a window at a constant rate. A bucket holds as many units as the limit. It is GCRA with a
// burst of the limit, so a decision costs O(1).
type Leaky struct {
	EmptyUs int64 // unix microseconds at which the bucket is empty
}

func (s *Leaky) gcra(q Quota) *GCRA { return &GCRA{TatUs: s.EmptyUs, Burst: q.Limit} }

// Decide implements State.
func (s *Leaky) Decide(nowMs, expireAtMs int64, q Quota, call Call) Decision {
	return s.gcra(q).Decide(nowMs, expireAtMs, q, call)
}

// Apply implements State.
func (s *Leaky) Apply(_ int64, d *Decision) { s.EmptyUs = d.TatUs }

// LeavesAfter implements Subject.
func (s *Leaky) LeavesAfter(nowMs, expireAtMs int64, q Quota, n int64) int64 {
	return s.gcra(q).LeavesAfter(nowMs, expireAtMs, q, n)
}
