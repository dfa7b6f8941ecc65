package set

import (
	"iter"
	"slices"

	"github.com/zlimit/zlimit/store/decimal"
	"github.com/zlimit/zlimit/store/dict"
)

// A Set is a set. The zero value is empty, an intset, and owns no memory beyond itself. It must not be copied
// after first use (see Clone), and is not safe for concurrent use. Methods that change nothing may run
// concurrently with each other, except All and Scan.
type Set struct {
	ints  []int64 // ascending; nil if table is not
	table *table  // nil for an intset
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

// IsIntset reports whether the set is an intset. A set that stopped being one does not become one again.
func (s *Set) IsIntset() bool { return s.table == nil }

// Encoding returns the reply of OBJECT ENCODING.
func (s *Set) Encoding() string {
	if s.IsIntset() {
		return "intset"
	}
	return "hashtable"
}

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

// Add adds text, which is copied, and reports whether it is new. Adding a member beyond maxInts converts an
// intset.
func (s *Set) Add(text []byte, maxInts int) bool {
	if s.table == nil {
		if n, ok := decimal.Parse(text); ok {
			return s.addNumber(n, maxInts)
		}
		s.convertIntset()
	}
	n, created := s.table.Put(dict.Hash(text), text)
	s.table.afterAdd(n, created)
	return created
}

func (s *Set) addNumber(n int64, maxInts int) bool {
	i, found := slices.BinarySearch(s.ints, n)
	if found {
		return false
	}
	s.ints = slices.Insert(s.ints, i, n)
	if len(s.ints) > maxInts {
		s.convertIntset()
	}
	return true
}

// Remove removes text and reports whether it was a member.
func (s *Set) Remove(text []byte) bool {
	if s.table != nil {
		return s.table.afterRemove(s.table.Delete(dict.Hash(text), text))
	}
	n, ok := decimal.Parse(text)
	if !ok {
		return false
	}
	return s.removeNumber(n)
}

func (s *Set) removeNumber(n int64) bool {
	i, found := slices.BinarySearch(s.ints, n)
	if !found {
		return false
	}
	s.ints = slices.Delete(s.ints, i, i+1)
	if len(s.ints) <= cap(s.ints)/4 {
		s.ints = slices.Clone(s.ints) // release the memory of a larger set
	}
	return true
}

// ContainsMember is Contains for a member of this or another set.
func (s *Set) ContainsMember(m Member) bool {
	switch {
	case m.isNumber && s.table == nil:
		_, found := slices.BinarySearch(s.ints, m.num)
		return found
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
	s.table.afterAdd(n, created)
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
	return n != nil && s.table.Unlink(n) && s.table.afterRemove(n)
}

// convertIntset converts an intset to a hash table.
func (s *Set) convertIntset() {
	s.table = new(table)
	var text [maxDigits]byte
	for _, n := range s.ints {
		b := Member{num: n, isNumber: true}.AppendText(text[:0])
		s.table.Put(dict.Hash(b), b)
	}
	s.ints = nil
}

// All iterates over the members, of an intset in numerical order. The loop must not change the set.
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

// Scan calls fn with part of the set and returns the cursor of the next call; a scan starts and ends at 0. A
// member that is in the set during the whole scan is seen at least once, even if the set changes its
// encoding; a member may be seen more than once. Any cursor is valid. fn must not change the set.
//
// An intset is scanned in one call, as in Redis.
func (s *Set) Scan(cursor uint64, fn func(Member)) (next uint64) {
	if s.table == nil {
		for m := range s.All() {
			fn(m)
		}
		return 0
	}
	return s.table.Scan(cursor, func(n *node) { fn(Member{text: n.Key()}) })
}

// Clone returns a deep copy in the same encoding.
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
