package limiter

// An Explanation says what one quota of a key holds, when that leaves, and which calls
// are admitted when. Waits are in milliseconds, and hold if there are no other calls.
type Explanation struct {
	Quota
	Used, Remaining int64 // units, as in a Decision

	// ResolutionMs is how exactly the state records the instants of units: 1 for a log,
	// the length of a bucket for BUCKETS, 0 if it does not record them. Then the fields
	// up to Tenths are 0.
	ResolutionMs int64
	// OldestMs and NewestMs are the instants of the oldest and the newest unit that
	// counts, in unix milliseconds, if Used is not 0. Units of a bucket are taken to have
	// come at its last millisecond, which may be ahead of now.
	OldestMs, NewestMs int64
	// Tenths are the units that came in each tenth of the window, oldest first. Units
	// ahead of now are in the last. Their sum is Used.
	Tenths [10]int64

	// Leaves are the waits until the first, the second, ... unit leaves, or of a log
	// entry, the oldest first: up to ten, the first LeavesLen. They grow or stay the same.
	// LeaveUnits are the units that leave then.
	Leaves     [10]int64
	LeaveUnits [10]int64
	LeavesLen  int

	// Fits is the wait until a call of cost 1 is admitted, 0 if it is now. CostFits is
	// the same for the cost asked about, -1 if it never is.
	Fits, CostFits int64

	// Double is the answer to a peek with the cost under twice the limit and, for GCRA,
	// twice the burst.
	Double Decision
}

// A Subject is what Explain explains: the state of a key under any algorithm, or the
// Units of a log.
type Subject interface {
	// Decide is Decide of State.
	Decide(nowMs, expireAtMs int64, q Quota, call Call) Decision
	// LeavesAfter returns how long it takes until n of the units that Decide counts as
	// used have left, the oldest first. n is at least 1 and at most Used.
	LeavesAfter(nowMs, expireAtMs int64, q Quota, n int64) int64
}

// dated is a Subject that records when its units came.
type dated interface {
	// since counts the used units that came after ms.
	since(nowMs, expireAtMs int64, q Quota, ms int64) int64
	// ends returns the instants of the oldest and the newest used unit. There is one.
	ends(nowMs, expireAtMs int64, q Quota) (oldestMs, newestMs int64)
	resolution() int64
}

// doubled returns the quota with twice the limit.
func (q Quota) doubled() Quota {
	q.Limit = add(q.Limit, q.Limit)
	return q
}

// Explain explains how a key stands under a quota, for the price of about thirty peeks. The
// arguments are those of Decide.
func Explain(s Subject, nowMs, expireAtMs int64, q Quota, cost int64) (x Explanation) {
	one := s.Decide(nowMs, expireAtMs, q, Call{Cost: 1, Peek: true})
	x.Quota, x.Used, x.Remaining, x.Fits = q, one.Used, one.Remaining, one.RetryAfterMs
	x.WindowMs = one.WindowMs
	x.CostFits = s.Decide(nowMs, expireAtMs, q, Call{Cost: cost, Peek: true}).RetryAfterMs
	x.Double = double(s).Decide(nowMs, expireAtMs, q.doubled(),
		Call{Cost: cost, Peek: true})
	log, _ := s.(Units)
	for n := int64(1); n <= x.Used && x.LeavesLen < len(x.Leaves); x.LeavesLen++ {
		units := log.entry(nowMs, expireAtMs, q, n)
		x.Leaves[x.LeavesLen], x.LeaveUnits[x.LeavesLen] = s.LeavesAfter(nowMs, expireAtMs, q, n), units
		n += units
	}
	d, ok := s.(dated)
	if !ok {
		return x
	}
	x.ResolutionMs = d.resolution()
	if x.Used == 0 {
		return x
	}
	x.OldestMs, x.NewestMs = d.ends(nowMs, expireAtMs, q)
	later := int64(0)
	for i := len(x.Tenths) - 1; i >= 0; i-- {
		beginMs := add(sub(nowMs, q.WindowMs), q.WindowMs*int64(i)/int64(len(x.Tenths)))
		from := d.since(nowMs, expireAtMs, q, beginMs)
		x.Tenths[i], later = from-later, from
	}
	return x
}

// double returns the state under twice the burst, if the algorithm has one.
func double(s Subject) Subject {
	if g, ok := s.(*GCRA); ok {
		return &GCRA{TatUs: g.TatUs, Burst: add(g.Burst, g.Burst)}
	}
	return s
}

// Units are the units of a log, a Subject. A nil Log is no key.
type Units struct{ Log Log }

// Decide is DecideCall for one quota. It only peeks, whatever the clock.
func (u Units) Decide(nowMs, expireAtMs int64, q Quota, call Call) (d Decision) {
	var k key
	k.view(u.Log, nowMs, expireAtMs)
	k.judgeOne(q, call.canonical(), &d)
	return d
}

// LeavesAfter implements Subject.
func (u Units) LeavesAfter(nowMs, expireAtMs int64, q Quota, n int64) int64 {
	var k key
	k.view(u.Log, nowMs, expireAtMs)
	return k.leaves(k.used(q.WindowMs), n, q.WindowMs)
}

// entry returns the units of the entry whose first is the n-th of the units used, 1
// without a log.
func (u Units) entry(nowMs, expireAtMs int64, q Quota, n int64) int64 {
	var k key
	k.view(u.Log, nowMs, expireAtMs)
	if k.held == 0 || k.held == int64(k.log.Len()) {
		return 1
	}
	used := k.used(q.WindowMs)
	return max(1, used-(n-1)-k.heldAfter(k.unit(k.held-used+n-1)))
}

func (u Units) since(nowMs, expireAtMs int64, _ Quota, ms int64) int64 {
	return Count(u.Log, nowMs, expireAtMs, sub(nowMs, ms))
}

func (u Units) ends(nowMs, expireAtMs int64, q Quota) (oldestMs, newestMs int64) {
	var k key
	k.view(u.Log, nowMs, expireAtMs)
	return msOf(k.unit(k.held - k.used(q.WindowMs))), msOf(k.newest)
}

func (u Units) resolution() int64 { return 1 }
