// Package expire is the index of deadlines. It knows which keys may be due, so that keys are reclaimed even
// if nobody reads them. It does not store the deadlines of keys, only a lower bound for a few keys together.
// It has no clock, lock or loop.
//
// # Structure
//
// The low bits of a key's hash select one of a power of two of groups, of two to eight keys each on average;
// the table of keys can iterate over one group (dict.Dict.Class). Each group has a bound: none of its keys is
// due before it. A limiter extends its key's expiry on every hit, and the bound still holds. When a bound is
// due, the caller iterates over the group, removes the keys that are due, and sets the bound to the earliest
// remaining deadline. Every run of 64 groups, and all groups together, have such a bound too, so what is due
// is found without reading the rest.
//
// An index of exact deadlines, a heap, took 24 bytes for every key; this one takes one or two, and removing a
// key or a deadline costs nothing here. A busy key is examined about eight times in its window instead of
// once: docs/adr/0022. Redis instead samples random keys of its expires dictionary, and stops when few enough
// of them are due; here every key that is due is found.
//
// This package is internal to zlimit: it may change in any release.
package expire

import (
	"math"

	"github.com/zlimit/zlimit/store/alloc"
)

const (
	minKeys = 2 // keys per group, on average
	maxKeys = 8
	runBits = 6
	runLen  = 1 << runBits
)

// Never is the bound of a group without deadlines, or whose deadlines are that late.
const Never = math.MaxInt64

// An Index has lower bounds of the deadlines of one table of keys. The zero value has none and owns no
// memory. It is not safe for concurrent use.
//
// A deadline dueMs is the first millisecond at which the key has expired: as in Redis a key exists while now
// <= expireAtMs, it is expireAtMs+1.
type Index struct {
	groups []int64 // bound of each group; their number is a power of two
	runs   []int64 // bound of every runLen groups
	all    int64   // bound of all groups
	next   int     // group at which Due continues
}

// Covers reports whether Add has nothing to do. It is inlined: call it first on a hot path.
func (x *Index) Covers(hash uint32, dueMs int64) bool {
	return len(x.groups) > 0 && x.groups[int(hash)&(len(x.groups)-1)] <= dueMs
}

// Add ensures that Due returns the group of a key at dueMs or before.
func (x *Index) Add(hash uint32, dueMs int64) {
	if len(x.groups) == 0 {
		x.setGroups(1)
	}
	group := int(hash) & (len(x.groups) - 1)
	x.groups[group] = min(x.groups[group], dueMs)
	x.runs[group>>runBits] = min(x.runs[group>>runBits], dueMs)
	x.all = min(x.all, dueMs)
}

// Due returns a group with a bound of nowMs or before; ok is false if there is none. The caller removes the
// keys of the group that are due at nowMs and calls SetBound; until then Due returns the group again.
func (x *Index) Due(nowMs int64) (group int, ok bool) {
	for len(x.groups) > 0 && x.all <= nowMs {
		for x.next < len(x.groups) {
			run := x.next >> runBits
			if x.runs[run] <= nowMs {
				end := min((run+1)<<runBits, len(x.groups))
				for ; x.next < end; x.next++ {
					if x.groups[x.next] <= nowMs {
						return x.next, true
					}
				}
				x.runs[run] = minBound(x.groups[run<<runBits : end])
			}
			x.next = (run + 1) << runBits
		}
		x.next, x.all = 0, minBound(x.runs)
	}
	return 0, false
}

// Next returns the first group at or behind a group, and from the first on after the last, that may have a
// deadline. ok is false if none has.
func (x *Index) Next(group int) (next int, ok bool) {
	for i := 0; i < len(x.groups); {
		at := (group + i) & (len(x.groups) - 1)
		if x.groups[at] != Never {
			return at, true
		}
		i++
		if at&(runLen-1) == 0 && x.runs[at>>runBits] == Never {
			i += runLen - 1 // a whole run without a deadline
		}
	}
	return 0, false
}

// SetBound sets the bound of a group to the earliest deadline of its keys.
func (x *Index) SetBound(group int, dueMs int64) {
	x.groups[group] = dueMs
	// The bounds of run and all are not raised here: Due does that after a pass.
	x.runs[group>>runBits] = min(x.runs[group>>runBits], dueMs)
	x.all = min(x.all, dueMs)
}

// Bytes returns the memory of the index in bytes, itself excluded.
func (x *Index) Bytes() int64 {
	return alloc.Bytes(8*cap(x.groups)) + alloc.Bytes(8*cap(x.runs))
}

// Groups returns the number of groups. A key's group is its hash modulo that.
func (x *Index) Groups() int { return len(x.groups) }

// Resize adapts the number of groups to the number of keys of the table, 0 if none of them has a deadline. It
// may renumber the groups.
func (x *Index) Resize(keys int) {
	n := len(x.groups)
	if n == 0 {
		return // the first Add makes one group
	}
	for keys > maxKeys*n {
		n *= 2
	}
	for keys < minKeys*n && n > 1 {
		n /= 2
	}
	switch {
	case keys == 0:
		*x = Index{}
	case n != len(x.groups):
		x.setGroups(n)
	}
}

// setGroups makes n groups. A group that is split passes its bound to each part; a merged group has the
// lesser of two.
func (x *Index) setGroups(n int) {
	was := x.groups
	x.groups = make([]int64, n)
	x.runs = make([]int64, (n+runLen-1)>>runBits)
	x.next, x.all = 0, Never
	for i := range x.groups {
		x.groups[i] = Never
	}
	for i := range max(n, len(was)) {
		if len(was) > 0 {
			x.groups[i&(n-1)] = min(x.groups[i&(n-1)], was[i&(len(was)-1)])
		}
	}
	for i := range x.runs {
		x.runs[i] = minBound(x.groups[i<<runBits : min((i+1)<<runBits, n)])
	}
	x.all = minBound(x.runs)
}

func minBound(bounds []int64) int64 {
	low := int64(Never)
	for _, b := range bounds {
		low = min(low, b)
	}
	return low
}
