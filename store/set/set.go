package set

import (
	"iter"
	"slices"

	"github.com/zlimit/zlimit/store/decimal"
	"github.com/zlimit/zlimit/store/dict"
)

// Set is a set. The zero value is empty, an intset, and owns no memory beyond
// itself. It must not be copied once used (Clone does that), and is not safe
// for concurrent use; methods that change nothing may run beside each other
// while none that changes runs, All and Scan excepted.
type Set struct {
	ints  []int64 // ascending; nil once table is there
	table *table  // nil: an intset
}

// maxDigits is the length of the longest decimal of an int64.
const maxDigits = len("-9223372036854775808")

// Len returns the number of members.
func (s *Set) Len() int {
	if s.table != nil {
		return s.table.Len()
	}
	return len(s.ints)
}

// IsIntset reports whether the set is an intset. A set that stopped being one
// does not come back.
func (s *Set) IsIntset() bool { return s.table == nil }

// Contains reports whether text is a member. It does not allocate.
func (s *Set) Contains(text []byte) bool {
	if s.table != nil {
		return s.table.Get(dict.Hash(text), text) != nil
	}
	n, ok := decimal.Parse(text)
	if !ok {
		return false
	}
	_, ok = slices.BinarySearch(s.ints, n)
	return ok
}

// Add makes text a member and reports whether it was none. The text is copied.
// maxInts is the number of members up to which an intset stays one; it is
// looked at when a member comes.
func (s *Set) Add(text []byte, maxInts int) bool {
	if s.table == nil {
		if n, ok := decimal.Parse(text); ok {
			return s.addNumber(n, maxInts)
		}
		s.leaveIntset()
	}
	n, created := s.table.Put(dict.Hash(text), text)
	s.table.added(n, created)
	return created
}

func (s *Set) addNumber(n int64, maxInts int) bool {
	i, held := slices.BinarySearch(s.ints, n)
	if held {
		return false
	}
	s.ints = slices.Insert(s.ints, i, n)
	if len(s.ints) > maxInts {
		s.leaveIntset()
	}
	return true
}

// Remove takes text out and reports whether it was a member.
func (s *Set) Remove(text []byte) bool {
	if s.table != nil {
		return s.table.removed(s.table.Delete(dict.Hash(text), text))
	}
	n, ok := decimal.Parse(text)
	if !ok {
		return false
	}
	return s.removeNumber(n)
}

func (s *Set) removeNumber(n int64) bool {
	i, held := slices.BinarySearch(s.ints, n)
	if !held {
		return false
	}
	s.ints = slices.Delete(s.ints, i, i+1)
	if len(s.ints) <= cap(s.ints)/4 {
		s.ints = slices.Clone(s.ints) // clips the room that a once larger set left
	}
	return true
}

// ContainsMember is Contains for a member of another set (or of this one).
func (s *Set) ContainsMember(m Member) bool {
	switch {
	case m.isNumber && s.table == nil:
		_, held := slices.BinarySearch(s.ints, m.num)
		return held
	case m.isNumber:
		var text [maxDigits]byte
		return s.Contains(m.AppendText(text[:0]))
	case s.table == nil:
		return s.Contains([]byte(m.text))
	}
	return s.table.GetString(dict.HashString(m.text), m.text) != nil
}

// AddMember is Add for a member of another set.
func (s *Set) AddMember(m Member, maxInts int) bool {
	switch {
	case m.isNumber && s.table == nil:
		return s.addNumber(m.num, maxInts)
	case m.isNumber || s.table == nil:
		return s.Add([]byte(m.Text()), maxInts)
	}
	n, created := s.table.PutString(dict.HashString(m.text), m.text)
	s.table.added(n, created)
	return created
}

// RemoveMember is Remove for a member of this or another set.
func (s *Set) RemoveMember(m Member) bool {
	switch {
	case m.isNumber && s.table == nil:
		return s.removeNumber(m.num)
	case m.isNumber || s.table == nil:
		return s.Remove([]byte(m.Text()))
	}
	n := s.table.GetString(dict.HashString(m.text), m.text)
	return n != nil && s.table.Unlink(n) && s.table.removed(n)
}

// leaveIntset moves an intset to a hash table.
func (s *Set) leaveIntset() {
	s.table = new(table)
	var text [maxDigits]byte
	for _, n := range s.ints {
		b := Member{num: n, isNumber: true}.AppendText(text[:0])
		s.table.Put(dict.Hash(b), b)
	}
	s.ints = nil
}

// All iterates over the members: of an intset in the order of the numbers, else
// in none. The loop must not change the set.
func (s *Set) All() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		if s.table == nil {
			for _, n := range s.ints {
				if !yield(Member{num: n, isNumber: true}) {
					return
				}
			}
			return
		}
		for n := range s.table.All() {
			if !yield(Member{text: n.Key()}) {
				return
			}
		}
	}
}

// Scan hands out a part of the set and returns the cursor to go on with, 0
// when it is through; it begins with cursor 0. A member that is in the set
// from the first call to the last is handed out at least once, whatever else
// comes or goes and though the set may change its encoding; a member may come
// more than once. Any cursor is safe to ask with. fn must not change the set.
//
// An intset is handed out in one call, as Redis does.
func (s *Set) Scan(cursor uint64, fn func(Member)) (next uint64) {
	if s.table == nil {
		for m := range s.All() {
			fn(m)
		}
		return 0
	}
	return s.table.Scan(cursor, func(n *node) { fn(Member{text: n.Key()}) })
}

// Clone returns a copy in the same encoding that shares nothing with the set.
func (s *Set) Clone() *Set {
	if s.table == nil {
		return &Set{ints: slices.Clone(s.ints)}
	}
	c := &Set{table: new(table)}
	for n := range s.table.All() {
		c.table.PutString(n.Hash(), n.Key())
	}
	return c
}
