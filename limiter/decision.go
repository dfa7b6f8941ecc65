package limiter

// Call is a request to a key, for any algorithm.
type Call struct {
	// Cost is the number of units requested. Cost 0 (or less) is Peek with cost 1.
	Cost int64
	// AtMost grants as much of Cost as fits, instead of all or nothing.
	AtMost bool
	// Peek returns what the call would answer and takes no units.
	Peek bool

	done bool // the units are taken whatever the limit says
}

// canonical returns the call with a cost of at least 1.
func (c Call) canonical() Call {
	if c.Cost <= 0 {
		c.Cost, c.Peek = 1, true
	}
	return c
}

// Decision is the answer to a call, for its binding quota, with the change that it
// makes. The binding quota is one that the cost can never fit, else the one with the
// longest wait, then with the least remaining, then the first.
type Decision struct {
	// Allowed is the number of units granted: the cost, with AtMost perhaps fewer, or 0
	// if denied.
	Allowed int64
	// Limit is the limit of the binding quota.
	Limit int64
	// Remaining is how many units the binding quota has left, never below 0: after this
	// call, or at present for a peek.
	Remaining int64
	// RetryAfterMs is 0 if allowed and -1 if the cost is above the limit. Otherwise it
	// is the shortest wait after which all quotas admit the same call if there are no
	// other calls (with AtMost: grant it a unit). If the key expires before its units
	// leave the window, the wait ends then.
	RetryAfterMs int64
	// ResetAfterMs is when the binding window is empty if there are no other calls, 0
	// if it is empty now.
	ResetAfterMs int64
	// NextAfterMs is when Remaining next grows if there are no other calls, 0 if it does
	// not: the window is empty, or the limit 0. A log leaves it 0: see NextAfter.
	NextAfterMs int64
	// Used is the number of units in the binding window, at the same point as
	// Remaining. It exceeds Limit if the limit was lowered.
	Used int64
	// WindowMs is the window of the binding quota.
	WindowMs int64

	Change
}

// Change is what the caller must do to the key. If Units is 0 nothing may change and
// the other fields are 0: after a denied call, a peek, and cost 0. (Allowed is no
// substitute: a peek can be allowed.)
type Change struct {
	// Units is how many units the caller must record.
	Units int64
	// DropThrough is for a log: first, entries with a score at or below it are removed.
	DropThrough int64
	// Score is for a log: the score of the entry that Units are added to. It is a new one
	// above all others, or the newest.
	Score int64
	// TatUs is for GCRA: when the bucket will be full again, in unix microseconds.
	TatUs int64
	// PlaceMs is where in time the units are counted, in unix milliseconds: of FIXED the end of the slice, of
	// BUCKETS and COUNTER the start of the bucket or slice, of GCRA now.
	PlaceMs int64
	// ExpireAtMs is the key's new expiry: it lives while now <= ExpireAtMs.
	ExpireAtMs int64
}

// Place returns where in time the units are counted: the Score of a log, or PlaceMs.
func (c *Change) Place() int64 { return c.Score + c.PlaceMs }

// A Taking is units that a call took of a key, for State.HeldOf and State.GiveBack.
type Taking struct {
	Quota
	Units int64
	Place int64 // of the change that took them
}

// A State is the state of a key under an algorithm that takes one quota. The zero
// value, with the parameters of the call filled in, represents an absent key.
type State interface {
	// Decide answers a call without changing the state. expireAtMs is the key's expiry,
	// 0 or less if it has none. A key whose expiry has passed counts as empty. The
	// caller has checked ValidateQuota and the Validate function of the algorithm's
	// parameters.
	Decide(nowMs, expireAtMs int64, q Quota, call Call) Decision
	// Apply applies a decision whose Units are not 0.
	Apply(nowMs int64, d *Decision)
	// Record is Decide without a look at the limit, for work already done. It fails with
	// ErrLong if the key would count the units for a hundred years.
	Record(nowMs, expireAtMs int64, q Quota, units int64) (Decision, error)
	// HeldOf returns how many units of a taking still count.
	HeldOf(nowMs, expireAtMs int64, t Taking) int64
	// GiveBack gives n units back, from 1 to what HeldOf returns, once for a taking. Afterwards the state is
	// at least as full as if they had not been taken. It returns the key's new expiry, or -1 if nothing is
	// left that counts.
	GiveBack(nowMs, expireAtMs int64, t Taking, n int64) (newExpireAtMs int64)
}

// Binds reports whether d replaces b, the binding decision of the earlier quotas.
func (d *Decision) Binds(b *Decision) bool {
	if d.RetryAfterMs != b.RetryAfterMs {
		if d.RetryAfterMs < 0 || b.RetryAfterMs < 0 {
			return d.RetryAfterMs < 0
		}
		return d.RetryAfterMs > b.RetryAfterMs
	}
	return d.Remaining < b.Remaining
}

// gone is the expiry of a key in which nothing is left.
const gone = -1

// never is RetryAfterMs for a cost that can never fit.
const never = -1

// measure sets Used, Remaining, and Allowed or RetryAfterMs = never from the units used
// of a capacity. It returns how many of the used units must leave before the call is
// admitted, 0 if none must or it never is.
func (d *Decision) measure(capacity, used int64, call Call) (leave int64) {
	d.Used, d.Remaining = used, max(0, sub(capacity, used))
	want := call.Cost
	if call.AtMost {
		want = 1
	}
	switch {
	case call.done:
		d.Allowed = call.Cost
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

// consume updates Used and Remaining by Allowed.
func (d *Decision) consume() {
	d.Units = d.Allowed
	d.Used = add(d.Used, d.Allowed)
	d.Remaining = max(0, d.Remaining-d.Allowed)
}

// untilGone shortens a wait if the key expires before its end. The result is at least
// 1. expireAtMs is 0 or less for none.
func untilGone(waitMs, nowMs, expireAtMs int64) int64 {
	if expireAtMs > 0 {
		waitMs = min(waitMs, add(sub(expireAtMs, nowMs), 1))
	}
	return max(1, waitMs)
}
