package limiter

// The BUCKETS algorithm is the sliding window in parts. Time is cut into buckets of
// ceil(window/n) milliseconds, aligned to the epoch, and each bucket counts its units.
// A bucket counts as if all its units had come at its last millisecond, so a unit
// counts for at least the window and at most a bucket more. Like the log this never
// admits more than the limit in a window, and only delays. At most n+1 buckets count at
// once. A decision reads them all: O(n).
//
// Units are never counted into a bucket before the newest. If the clock steps back,
// they go into the newest bucket, ahead of the clock, as in a log.

// Buckets is a key of the BUCKETS algorithm.
type Buckets struct {
	WidthMs  int64
	N        int64
	NewestMs int64   // start of the newest bucket
	Counts   []int64 // newest first, at most N+1; empty for no key
}

// BucketWidth returns the length of each of n buckets of a window.
func BucketWidth(windowMs, n int64) int64 { return ceil(windowMs, n) }

// Valid reports whether b is a state that Apply can produce.
func (b *Buckets) Valid() bool {
	if b.WidthMs < 1 || b.WidthMs > MaxWindowMs || b.N < 1 || b.N > MaxBuckets ||
		len(b.Counts) == 0 || int64(len(b.Counts)) > b.N+1 ||
		floor(b.NewestMs, b.WidthMs) != b.NewestMs {
		return false
	}
	for _, count := range b.Counts {
		if count < 0 {
			return false
		}
	}
	return true
}

// Decide implements State. The quota's window must have b's width.
func (b *Buckets) Decide(nowMs, expireAtMs int64, q Quota, call Call) (d Decision) {
	call = call.canonical()
	d.Limit, d.WindowMs = q.Limit, q.WindowMs
	expired := expireAtMs > 0 && nowMs > expireAtMs
	used := int64(0)
	if !expired {
		used = b.used(nowMs, q.WindowMs)
	}
	leave := d.measure(q.Limit, used, call)
	if used > 0 {
		d.ResetAfterMs = untilGone(b.leaves(nowMs, q.WindowMs, used, used), nowMs, expireAtMs)
	}
	if n := q.growsAfter(used); n > 0 {
		d.NextAfterMs = untilGone(b.leaves(nowMs, q.WindowMs, used, n), nowMs, expireAtMs)
	}
	if leave > 0 {
		d.RetryAfterMs = untilGone(b.leaves(nowMs, q.WindowMs, used, leave), nowMs, expireAtMs)
	}
	if d.Allowed > 0 && !call.Peek {
		d.consume()
		newestMs, keepMs := floor(nowMs, b.WidthMs), q.WindowMs
		if len(b.Counts) > 0 && !expired {
			newestMs = max(newestMs, b.NewestMs)
			if expireAtMs > 0 {
				keepMs = max(keepMs, b.retention(expireAtMs))
			}
		}
		d.ExpireAtMs, d.PlaceMs = add(b.endOf(newestMs), keepMs), newestMs
		d.ResetAfterMs = sub(add(b.endOf(newestMs), q.WindowMs), nowMs)
		if used == 0 {
			d.NextAfterMs = d.ResetAfterMs
		} else if next := b.leaves(nowMs, q.WindowMs, used, 1); next > 0 {
			d.NextAfterMs = next // the key no longer expires earlier
		}
	}
	return d
}

// Apply implements State. Counts must have capacity N+1.
func (b *Buckets) Apply(nowMs int64, d *Decision) {
	beginMs := floor(nowMs, b.WidthMs)
	if len(b.Counts) == 0 {
		b.NewestMs, b.Counts = beginMs, append(b.Counts, 0)
	}
	if beginMs > b.NewestMs {
		by := int(min(sub(beginMs, b.NewestMs)/b.WidthMs, b.N+1))
		was := len(b.Counts)
		b.Counts = b.Counts[:min(was+by, int(b.N)+1)]
		if by < len(b.Counts) {
			copy(b.Counts[by:], b.Counts[:was])
		}
		clear(b.Counts[:min(by, len(b.Counts))])
		b.NewestMs = beginMs
	}
	b.Counts[0] = add(b.Counts[0], d.Units)
	b.trim()
}

// Record implements State.
func (b *Buckets) Record(nowMs, expireAtMs int64, q Quota, units int64) (Decision, error) {
	return b.Decide(nowMs, expireAtMs, q, Call{Cost: units, done: true}), nil
}

// HeldOf implements State.
func (b *Buckets) HeldOf(nowMs, expireAtMs int64, t Taking) int64 {
	i := b.index(t.Place)
	if i < 0 || b.wait(i, nowMs, b.retention(expireAtMs)) <= 0 {
		return 0
	}
	return min(t.Units, b.Counts[i])
}

// GiveBack implements State.
func (b *Buckets) GiveBack(_, expireAtMs int64, t Taking, n int64) int64 {
	keepMs := b.retention(expireAtMs)
	b.Counts[b.index(t.Place)] -= n
	return b.strip(expireAtMs, keepMs)
}

// index returns the bucket that begins at an instant, or -1.
func (b *Buckets) index(beginMs int64) int {
	for i := range b.Counts {
		if b.begin(i) == beginMs {
			return i
		}
	}
	return -1
}

// Refund removes the newest n units of those still held for some window. It returns
// how many were removed and the key's new expiry, or -1 if there is no bucket left.
func (b *Buckets) Refund(nowMs, expireAtMs, n int64) (removed, newExpireAtMs int64) {
	keepMs := b.retention(expireAtMs)
	for i := range b.Counts {
		if removed == n || b.wait(i, nowMs, keepMs) <= 0 {
			break
		}
		part := min(b.Counts[i], n-removed)
		b.Counts[i] -= part
		removed += part
	}
	return removed, b.strip(expireAtMs, keepMs)
}

// strip drops empty buckets at both ends and returns the expiry that preserves the retention, or -1 if there
// is no bucket left.
func (b *Buckets) strip(expireAtMs, keepMs int64) int64 {
	empty := 0
	for empty < len(b.Counts) && b.Counts[empty] == 0 {
		empty++
	}
	b.Counts = b.Counts[:copy(b.Counts, b.Counts[empty:])]
	b.NewestMs = sub(b.NewestMs, mul(int64(empty), b.WidthMs))
	if len(b.Counts) == 0 {
		return gone
	}
	b.trim()
	if expireAtMs > 0 {
		expireAtMs = add(b.endOf(b.NewestMs), keepMs)
	}
	return expireAtMs
}

// LeavesAfter implements Subject.
func (b *Buckets) LeavesAfter(nowMs, expireAtMs int64, q Quota, n int64) int64 {
	return untilGone(b.leaves(nowMs, q.WindowMs, b.used(nowMs, q.WindowMs), n), nowMs, expireAtMs)
}

func (b *Buckets) since(nowMs, expireAtMs int64, q Quota, ms int64) (units int64) {
	if expireAtMs > 0 && nowMs > expireAtMs {
		return 0
	}
	return b.used(nowMs, min(sub(nowMs, ms), q.WindowMs))
}

func (b *Buckets) ends(nowMs, _ int64, q Quota) (oldestMs, newestMs int64) {
	for i, count := range b.Counts {
		if b.wait(i, nowMs, q.WindowMs) <= 0 {
			break
		}
		if count > 0 {
			oldestMs = b.endOf(b.begin(i))
			newestMs = max(newestMs, oldestMs)
		}
	}
	return oldestMs, newestMs
}

func (b *Buckets) resolution() int64 { return b.WidthMs }

// Oldest returns the first millisecond that the buckets cover. Oldest and Newest
// require a bucket.
func (b *Buckets) Oldest() int64 { return b.begin(len(b.Counts) - 1) }

// Newest returns the last millisecond that the buckets cover.
func (b *Buckets) Newest() int64 { return b.endOf(b.NewestMs) }

// Used returns how many units are still held for some window.
func (b *Buckets) Used(nowMs, expireAtMs int64) int64 {
	return b.used(nowMs, b.retention(expireAtMs))
}

// retention returns how long the key's expiry keeps its newest bucket; without expiry,
// the longest window of these buckets.
func (b *Buckets) retention(expireAtMs int64) int64 {
	if expireAtMs > 0 {
		return sub(expireAtMs, b.endOf(b.NewestMs))
	}
	return b.N * b.WidthMs
}

// trim drops the oldest buckets that are empty.
func (b *Buckets) trim() {
	for len(b.Counts) > 1 && b.Counts[len(b.Counts)-1] == 0 {
		b.Counts = b.Counts[:len(b.Counts)-1]
	}
}

func (b *Buckets) begin(i int) int64 { return sub(b.NewestMs, mul(int64(i), b.WidthMs)) }

func (b *Buckets) endOf(beginMs int64) int64 { return add(beginMs, b.WidthMs-1) }

// wait returns how long bucket i still counts in a window, 0 or less if it does not.
func (b *Buckets) wait(i int, nowMs, windowMs int64) int64 {
	return sub(add(b.endOf(b.begin(i)), windowMs), nowMs)
}

func (b *Buckets) used(nowMs, windowMs int64) (used int64) {
	for i, count := range b.Counts {
		if b.wait(i, nowMs, windowMs) <= 0 {
			break
		}
		used = add(used, count)
	}
	return used
}

// leaves returns how long it takes until n of the units used have left the window, the
// oldest first.
func (b *Buckets) leaves(nowMs, windowMs, used, n int64) int64 {
	stay := used - n
	for i, count := range b.Counts {
		if stay -= count; stay < 0 {
			return b.wait(i, nowMs, windowMs)
		}
	}
	return 0
}
