package limiter

// Call is what is asked of a key, whatever the algorithm.
type Call struct {
	// Cost is how many units to take. Cost 0 (or less) is Peek with cost 1.
	Cost int64
	// AtMost grants as much of Cost as fits, instead of all or nothing.
	AtMost bool
	// Peek asks what the call would answer, and takes nothing.
	Peek bool
}

// canonical returns the call with a cost of at least 1.
func (c Call) canonical() Call {
	if c.Cost <= 0 {
		c.Cost, c.Peek = 1, true
	}
	return c
}

// Decision is the answer to one call, about its binding quota, and what the
// call changes. The binding quota is one that the cost can never fit, else the
// one with the longest wait, then with the least remaining, then the first.
type Decision struct {
	// Allowed is the units granted: the cost of the call, with AtMost perhaps
	// fewer, or 0 when denied.
	Allowed int64
	// Limit is the binding quota's.
	Limit int64
	// Remaining is how many units the binding quota has left, never below 0:
	// after this call, or for a peek as it stands.
	Remaining int64
	// RetryAfterMs is 0 when allowed, -1 when the cost is above the limit,
	// otherwise the wait after which the same call is admitted by all quotas if
	// nobody else calls (with AtMost: after which it is granted a unit); 1 ms
	// less is too short. Where the key expires before its units leave the
	// window, that ends the wait.
	RetryAfterMs int64
	// ResetAfterMs is when the binding window is empty if nobody calls, 0 if it
	// is empty now.
	ResetAfterMs int64
	// NextAfterMs is when Remaining next grows if nobody calls, 0 if the window
	// is empty. A log leaves it 0: see NextAfter.
	NextAfterMs int64
	// Used is the units in the binding window, counted at the same point as
	// Remaining. It can exceed Limit when the limit was lowered.
	Used int64
	// WindowMs is the binding quota's.
	WindowMs int64

	Change
}

// Change is what the caller must do to the key. Where Units is 0 nothing may
// change and the other fields are 0: after a denied call, a peek, and cost 0.
// (Allowed does not tell: a peek can be allowed.)
type Change struct {
	// Units is how many units the caller must record.
	Units int64
	// DropThrough, of a log: first, units with a score at or below this leave.
	DropThrough int64
	// First, of a log: the score of the first of Units consecutive ones to append.
	First int64
	// TatUs, of GCRA: when the bucket will be full again, in unix microseconds.
	TatUs int64
	// ExpireAtMs is the key's new expiry: it lives while now <= ExpireAtMs.
	ExpireAtMs int64
}

// A State is a key of an algorithm that takes one quota, as it stands. The zero
// value of each, with what a call names filled in, is no key.
type State interface {
	// Decide answers a call and changes nothing. expireAtMs is the key's expiry,
	// 0 or less if it has none; a key whose expiry has passed counts as empty.
	// The caller has checked ValidateQuota, and the Validate function of the
	// algorithm's own numbers.
	Decide(nowMs, expireAtMs int64, q Quota, call Call) Decision
	// Apply makes s the key as it is after a decision whose Units are not 0.
	Apply(nowMs int64, d *Decision)
}

// Binds reports whether d takes the place of the binding decision b, that of an
// earlier quota.
func (d *Decision) Binds(b *Decision) bool {
	if d.RetryAfterMs != b.RetryAfterMs {
		if d.RetryAfterMs < 0 || b.RetryAfterMs < 0 {
			return d.RetryAfterMs < 0
		}
		return d.RetryAfterMs > b.RetryAfterMs
	}
	return d.Remaining < b.Remaining
}

// never is the RetryAfterMs of a cost that can never fit.
const never = -1

// weigh fills in what follows from the units used, of a capacity: Used,
// Remaining, and Allowed or the never of RetryAfterMs. It returns how many of
// the used units have to leave before the call is admitted, 0 where none has
// to or it never is.
func (d *Decision) weigh(capacity, used int64, call Call) (leave int64) {
	d.Used, d.Remaining = used, max(0, sub(capacity, used))
	want := call.Cost
	if call.AtMost {
		want = 1
	}
	switch {
	case want > capacity:
		d.RetryAfterMs = never
	case want > sub(capacity, used):
		return used - (capacity - want)
	case call.AtMost:
		d.Allowed = min(call.Cost, d.Remaining)
	default:
		d.Allowed = call.Cost
	}
	return 0
}

// take moves Used and Remaining on by what was allowed.
func (d *Decision) take() {
	d.Units = d.Allowed
	d.Used += d.Allowed
	d.Remaining -= d.Allowed
}

// untilGone shortens a wait where the key expires before it is over, and is
// never below 1. expireAtMs is 0 or less for none.
func untilGone(waitMs, nowMs, expireAtMs int64) int64 {
	if expireAtMs > 0 {
		waitMs = min(waitMs, add(sub(expireAtMs, nowMs), 1))
	}
	return max(1, waitMs)
}
