// Package expire is the index of deadlines: it knows where among the keys
// something may be due, so that keys are reclaimed although nobody reads them.
// It holds no deadline of any key: the key's own is the truth, the index keeps a
// lower bound for a few keys together. It has no clock, no lock and no loop.
//
// # Structure
//
// The low bits of a key's hash put it into one of a power of two of groups, of
// two to eight keys each in the mean; the table of keys can walk through one
// group (dict.Dict.Class). Each group has a bound: none of its keys is due
// before that. A limiter extends its key's expiry on every hit, and the bound
// holds as it is. When a bound comes due the caller walks through the group,
// removes what is due, and settles the bound at the earliest deadline that is
// left. Every run of 64 groups, and all of them together, have such a bound too:
// what is due is found without reading the others.
//
// An index of exact deadlines, a heap, took 24 bytes of every key; this takes one
// or two, and removing a key or a deadline costs nothing here. A busy key is
// looked at some eight times in its window in place of once: docs/adr/0022.
// Redis samples random keys of its expires dictionary instead, and stops when
// few enough of them are due; here all that is due is found.
package expire

import (
	"math"

	"github.com/zlimit/zlimit/store/alloc"
)

const (
	leastKeys = 2 // of a group, in the mean
	mostKeys  = 8
	runBits   = 6
	runLen    = 1 << runBits
)

// Never is the bound of a group in which no key has a deadline, and of those
// whose deadline is that far.
const Never = math.MaxInt64

// Index keeps lower bounds of the deadlines of one table of keys. The zero value
// has none and owns no memory. It is not safe for concurrent use.
//
// A deadline dueMs is the first millisecond at which the key is gone: with
// Redis' rule, that a key lives while now <= expireAtMs, it is expireAtMs+1.
type Index struct {
	groups []int64 // bound of each; their number is a power of two
	runs   []int64 // bound of each runLen groups
	all    int64   // bound of every group
	at     int     // the group at which Due goes on looking
}

// Covers tells that File has nothing to do. It is inlined: callers on a hot path
// ask it first.
func (x *Index) Covers(hash uint32, dueMs int64) bool {
	return len(x.groups) > 0 && x.groups[int(hash)&(len(x.groups)-1)] <= dueMs
}

// File makes sure that Due returns the group of a key at dueMs or before.
func (x *Index) File(hash uint32, dueMs int64) {
	if len(x.groups) == 0 {
		x.resize(1)
	}
	group := int(hash) & (len(x.groups) - 1)
	x.groups[group] = min(x.groups[group], dueMs)
	x.runs[group>>runBits] = min(x.runs[group>>runBits], dueMs)
	x.all = min(x.all, dueMs)
}

// Due returns a group with a bound of nowMs or before; ok is false where there is
// none. The caller removes what is due at nowMs from the group and settles it;
// until then Due returns it again.
func (x *Index) Due(nowMs int64) (group int, ok bool) {
	for len(x.groups) > 0 && x.all <= nowMs {
		for x.at < len(x.groups) {
			run := x.at >> runBits
			if x.runs[run] <= nowMs {
				end := min((run+1)<<runBits, len(x.groups))
				for ; x.at < end; x.at++ {
					if x.groups[x.at] <= nowMs {
						return x.at, true
					}
				}
				x.runs[run] = least(x.groups[run<<runBits : end])
			}
			x.at = (run + 1) << runBits
		}
		x.at, x.all = 0, least(x.runs)
	}
	return 0, false
}

// Settle sets the bound of a group: the earliest deadline among all its keys.
func (x *Index) Settle(group int, dueMs int64) {
	x.groups[group] = dueMs
	// The bounds above it stay: Due raises them when it has looked at all.
	x.runs[group>>runBits] = min(x.runs[group>>runBits], dueMs)
	x.all = min(x.all, dueMs)
}

// Bytes returns the memory that the index takes beside itself, in bytes.
func (x *Index) Bytes() int64 {
	return alloc.Bytes(8*cap(x.groups)) + alloc.Bytes(8*cap(x.runs))
}

// Groups returns the number of groups: a key's is its hash modulo that.
func (x *Index) Groups() int { return len(x.groups) }

// Fit follows the number of keys of the table, 0 where none of them has a
// deadline. Groups have other numbers afterwards.
func (x *Index) Fit(keys int) {
	n := len(x.groups)
	if n == 0 {
		return // the first deadline makes one
	}
	for keys > mostKeys*n {
		n *= 2
	}
	for keys < leastKeys*n && n > 1 {
		n /= 2
	}
	switch {
	case keys == 0:
		*x = Index{}
	case n != len(x.groups):
		x.resize(n)
	}
}

// resize makes n groups. A bound holds for the groups that its own falls apart
// into, the lesser of two for the group that they become.
func (x *Index) resize(n int) {
	was := x.groups
	x.groups = make([]int64, n)
	x.runs = make([]int64, (n+runLen-1)>>runBits)
	x.at, x.all = 0, Never
	for i := range x.groups {
		x.groups[i] = Never
	}
	for i := range max(n, len(was)) {
		if len(was) > 0 {
			x.groups[i&(n-1)] = min(x.groups[i&(n-1)], was[i&(len(was)-1)])
		}
	}
	for i := range x.runs {
		x.runs[i] = least(x.groups[i<<runBits : min((i+1)<<runBits, n)])
	}
	x.all = least(x.runs)
}

func least(bounds []int64) int64 {
	low := int64(Never)
	for _, b := range bounds {
		low = min(low, b)
	}
	return low
}
