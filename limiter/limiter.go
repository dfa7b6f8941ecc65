// Package limiter holds the rate-limiting decisions as pure functions: the
// state of a key and the present instant go in, a decision and what it would
// change come out. It has no clock, no lock, no store and no wire text, and it
// never changes the state it reads.
//
// # The LOG algorithm
//
// A key is a log of units, one for each unit of cost that was admitted. The
// score of a unit is ms*1000 + sequence; each new unit takes the larger of
// nowMs*1000 and the newest score + 1, and the units of one call are one run
// of consecutive scores. So scores never repeat, and the millisecond of a score
// is never before the instant of its admission.
//
// A unit counts in a window of w ms while its millisecond is above nowMs - w.
// Units ahead of now count too: they are there because the clock stepped back,
// or because more than 1,000 units fell on one millisecond and spilled into
// the next ones. Both only delay.
//
// Invariant: let E be the latest instant of any admitted call on the key so
// far (nowMs itself unless the clock stepped back). For a window of w ms that a
// living key has been asked about (w or longer, in an admitted call), at most
// limit units are admitted in (E-w, E]. The proof is short: a unit admitted
// when the latest instant was e has a millisecond of at least e, so it counts
// while e > E-w; and it was not dropped, because a call drops only units at or
// before its own instant (at most E) minus keep, and keep is at least w. In
// words: a step of the clock forwards by d frees what d ms of waiting free,
// and a step back frees nothing, though what had already left stays away.
//
// Retention belongs to the key: keep is the longest window of this call, or
// what the key's expiry grants its newest unit, whichever is longer. So a call
// with a short window does not drop what a longer window still needs.
//
// This departs from the usual ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE flow in
// three ways: hits of one instant do not merge, a denied call changes nothing
// (not even by trimming), and mixed windows on one key do not harm each other.
package limiter

// Quota is one limit of a call: at most Limit units in any WindowMs
// milliseconds. Both are at least 1; see Validate for the other bounds.
type Quota struct {
	Limit    int64
	WindowMs int64
}

// Log is what Decide reads of a key: scores in ascending order, each once. Of
// an empty Log only Len is called.
type Log interface {
	Len() int
	CountAfter(score int64) int // how many scores are above score
	UnitAt(rank int) int64      // the score with rank 0 <= rank < Len
	Oldest() int64
	Newest() int64
}

// The scores that a log may hold, MinScore <= score < MaxScore. Below MinScore
// (3 March 1973) a number is rather a time in seconds or milliseconds that
// another limiter wrote; from MaxScore on (5 June 2255) a sorted set's float64
// no longer holds every integer.
const (
	MinScore int64 = 100_000_000_000_000
	MaxScore int64 = 1 << 53
)

// Holds tells whether log can be one that RL.ALLOW wrote: it is empty, or its
// oldest and newest scores lie in [MinScore, MaxScore).
func Holds(log Log) bool {
	return log == nil || log.Len() == 0 || log.Oldest() >= MinScore && log.Newest() < MaxScore
}

// Decision is the answer to one call, about its binding quota, and what the
// call changes. The binding quota is one that the cost can never fit, else the
// one with the longest wait, then with the least remaining, then the first.
type Decision struct {
	// Allowed is the units granted: the cost of the call, or 0 when denied.
	Allowed int64
	// Limit is the binding quota's.
	Limit int64
	// Remaining is how many units the binding quota has left, never below 0:
	// after this call for Decide, as it stands for Peek.
	Remaining int64
	// RetryAfterMs is 0 when allowed, -1 when the cost is above the limit,
	// otherwise the wait after which the same call is admitted by all quotas if
	// nobody else calls; 1 ms less is too short. Where the key expires before
	// its units leave the window, that ends the wait.
	RetryAfterMs int64
	// ResetAfterMs is when the binding window is empty if nobody calls, 0 if it
	// is empty now.
	ResetAfterMs int64
	// Used is the units in the binding window, counted at the same point as
	// Remaining. It can exceed Limit when the limit was lowered.
	Used int64

	// Units is how many units the caller must record; 0 for a denied call, for
	// Peek and for cost 0, and then nothing may change and the fields below
	// are 0. (Allowed does not tell: a peek can be allowed.)
	Units int64
	// DropThrough: first, units with a score at or below this leave.
	DropThrough int64
	// First is the score of the first of Units consecutive ones to append.
	First int64
	// ExpireAtMs is the key's new expiry: it lives while now <= ExpireAtMs.
	ExpireAtMs int64
}
