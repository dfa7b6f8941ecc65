// Package limiter implements rate-limiting decisions as pure functions from the state
// of a key and the current instant to a decision and the change it makes. It has no
// clock, lock, store or wire text, and never changes the state it reads.
//
// There are five algorithms, a file each. LOG and BUCKETS never admit more than the
// limit in any window. FIXED, GCRA and COUNTER have definitions of their own, under
// which a window can hold about twice as much (docs/worst-window.md).
//
//	LOG      log.go      the exact sliding window; several quotas; O(log held)
//	FIXED    fixed.go    a counter for each slice of time; O(1)
//	GCRA     gcra.go     a burst that refills steadily; O(1)
//	BUCKETS  buckets.go  the sliding window in n parts; O(n), whatever the limit
//	COUNTER  counter.go  two counters, weighted by time; O(1)
//
// All of them decide in whole milliseconds, count in saturating int64, and do not
// allocate.
//
// # The LOG algorithm
//
// A key is a log of entries, each with a score and the units of a call. The score is
// ms*1000 + sequence, where ms is the larger of nowMs and the newest entry's
// millisecond. So scores never repeat, and the millisecond of a score is never before
// the instant of its admission. The units of a call that finds all scores of its
// millisecond taken are added to the newest entry.
//
// A unit counts in a window of w ms while its entry's millisecond is above nowMs - w. So
// all units of a call leave together, one window after its instant. Entries ahead of now
// count, too. They exist because the clock stepped back, and only delay.
//
// Invariant: let E be the latest instant of any admitted call on the key (nowMs itself
// unless the clock stepped back). For a window of w ms that a living key has been asked
// about (w or longer, in an admitted call), at most limit units are admitted in (E-w,
// E]. Proof: a unit admitted when the latest instant was e has a millisecond of at
// least e, so it counts while e > E-w. It was not dropped, because a call drops only
// units at or before its own instant (at most E) minus keep, and keep is at least w. In
// words: a forward step of the clock by d frees what waiting d ms frees. A backward
// step frees nothing, and units that had already left do not return.
//
// Retention belongs to the key: keep is the longer of the longest window of this call
// and what the key's expiry leaves its newest unit. So a call with a short window does
// not drop what a longer window still needs.
//
// This differs from the usual ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE flow in four ways:
// a call has a cost, hits of one instant all count, a denied call changes nothing (not
// even by trimming), and mixed windows on one key do not harm each other.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package limiter
