package zset

// NoteEncoding is for OBJECT ENCODING. Redis 7.0 stores a sorted set as a listpack until a member is added
// while the set has more than maxEntries of them (zset-max-listpack-entries), or a member longer than
// maxValue bytes (zset-max-listpack-value), and then as a skiplist for good. Call NoteEncoding after each
// command that may have added members. It examines only members added since the last call, and costs nothing
// if there are none.
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
	case maxValue < maxMember && s.Len() > 0 && s.Len() <= maxEntries:
		longest = s.longestMember()
	}
	if s.Len() > maxEntries || longest > maxValue {
		s.flags |= flagSkiplist
	}
}

// longestMember returns the length of a log's longest member.
func (s *Set) longestMember() int {
	longest := max(numberLen(s.first), numberLen(s.last()))
	if !s.hasWeights() {
		return longest
	}
	s.logAscend(0, func(e Entry) bool {
		var b [maxMember]byte
		longest = max(longest, len(e.AppendMember(b[:0])))
		return true
	})
	return longest
}

// NoteSort is for OBJECT ENCODING: SORT converts a listpack to a skiplist.
func (s *Set) NoteSort() { s.flags |= flagSkiplist }

// IsListpack reports whether Redis would still store the set as a listpack, according to the calls of
// NoteEncoding and NoteSort.
func (s *Set) IsListpack() bool { return s.flags&flagSkiplist == 0 }

// Encoding returns the reply of OBJECT ENCODING.
func (s *Set) Encoding() string {
	if s.IsListpack() {
		return "listpack"
	}
	return "skiplist"
}
