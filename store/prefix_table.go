package store

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A prefixTable is the limits that were set together.
type prefixTable struct {
	rows []prefixRow // sorted by name
	new  bool        // a row is new
}

type prefixRow struct {
	*Prefix
	outer *prefixRow // the longest other prefix that the name begins with, or nil
	new   bool       // the walk counts the keys that existed before
}

// find returns the longest prefix of name, or nil. The others are its outer ones.
func (t *prefixTable) find(name string) *prefixRow {
	// The last prefix that is not above name begins with every prefix of name, since those are not above
	// name either.
	low, high := 0, len(t.rows)
	for low < high { // not slices.BinarySearchFunc, which makes name escape
		if middle := (low + high) / 2; t.rows[middle].name <= name {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return nil
	}
	row := &t.rows[low-1]
	for row != nil && !strings.HasPrefix(name, row.name) {
		row = row.outer
	}
	return row
}

// SetPrefixLimits replaces the limits. Prefixes that had a limit keep their counts and have the new limit at
// once; those that have none any more refuse nothing. The others have effect in a shard once a PrefixWalk has
// passed its keys: the limits need a walk to the end. Calls must not overlap. It requires no shard.
func (s *Store) SetPrefixLimits(limits []PrefixLimit) {
	old := s.prefixes.Load()
	if old == nil {
		if len(limits) == 0 {
			return
		}
		old = &prefixTable{}
	}
	walked := s.walked.Load() == old
	dropped := make(map[string]prefixRow, len(old.rows))
	for _, row := range old.rows {
		dropped[row.name] = row
	}
	t := &prefixTable{}
	for _, l := range limits {
		row := prefixRow{Prefix: &Prefix{name: l.Prefix}, new: true}
		if was, ok := dropped[l.Prefix]; ok && (walked || !was.new) {
			row = prefixRow{Prefix: was.Prefix}
			delete(dropped, l.Prefix)
		}
		row.max.Store(l.Max)
		t.new = t.new || row.new
		t.rows = append(t.rows, row)
	}
	for _, row := range dropped {
		row.max.Store(math.MaxInt64)
	}
	slices.SortFunc(t.rows, func(a, b prefixRow) int { return cmp.Compare(a.name, b.name) })
	for i := range t.rows {
		outer := (*prefixRow)(nil)
		if i > 0 {
			outer = &t.rows[i-1]
		}
		for outer != nil && !strings.HasPrefix(t.rows[i].name, outer.name) {
			outer = outer.outer
		}
		t.rows[i].outer = outer
	}
	s.prefixes.Store(t)
}
