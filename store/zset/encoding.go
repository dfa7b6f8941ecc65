package zset

// NoteEncoding is for OBJECT ENCODING: Redis 7.0 keeps a sorted set in a
// listpack until a member comes while it holds more than maxEntries of them
// (zset-max-listpack-entries) or is itself longer than maxValue bytes
// (zset-max-listpack-value), and then in a skiplist for good. Call it after
// each command that may have added members; it looks only at those that came
// since the last call, and costs nothing if none did.
func (s *Set) NoteEncoding(maxEntries, maxValue int) {
	if s.flags&flagAdded == 0 {
		return
	}
	s.flags &^= flagAdded
	longest := 0
	switch {
	case s.kind == kindPacked:
		p := s.packed()
		longest, p.longest = int(p.longest), 0
	case s.kind == kindTree:
		t := s.tree()
		longest, t.longest = t.longest, 0
	case maxValue < maxDigits && s.Len() > 0:
		longest = max(numberLen(s.first), numberLen(s.last()))
	}
	if s.Len() > maxEntries || longest > maxValue {
		s.flags |= flagSkiplist
	}
}

// NoteSort is for OBJECT ENCODING: SORT moves a set out of the listpack.
func (s *Set) NoteSort() { s.flags |= flagSkiplist }

// IsListpack reports whether Redis would still keep the set in a listpack,
// going by the calls of NoteEncoding so far; a new set is one.
func (s *Set) IsListpack() bool { return s.flags&flagSkiplist == 0 }
