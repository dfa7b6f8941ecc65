// Package topk finds the keys of a stream that occur most often, in memory whose size
// does not depend on the stream.
//
// A Sketch is Metwally's Space-Saving (2005) with eviction in batches, as Anderson et
// al. do it (2017): a full Sketch drops its lower half at once, which costs O(1) for
// each key added. Two Sketches can be merged (Agarwal et al., 2012). A Ring keeps
// Sketches of recent slots of time, so that it can also answer for the last minute,
// ten minutes and hour.
//
// Nothing here has a lock or a clock. This package is internal to zlimit: it may change
// in any release.
package topk

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"unsafe"
)

var seed = maphash.MakeSeed()

// Hash returns the hash of a name that Add takes.
func Hash(name []byte) uint64 { return maphash.Bytes(seed, name) }

// A Key is a key of a database.
type Key struct {
	DB   int
	Name string
}

// An Entry is a key with bounds of its count: the count in the stream is at most Count
// and at least Count - Error.
type Entry struct {
	Key
	Count, Error int64
	Last         [2]int64 // what Add was told last, if that was not zero

	hash uint64 // under which index has it
}

// A Sketch counts the most frequent keys of a stream.
//
// Invariant: the bounds of every Entry hold, a key without an Entry has a count of at
// most Absent, and no Entry has a Count below Absent. If every batch that was dropped
// left at least k entries, Absent and every Error are at most Total/(k+1). Proof: let the
// excess of an Entry be its Count above Absent. Adding a key raises the sum of the
// excesses by as much as Total, or less. A drop raises Absent by some d to the largest
// Count that is dropped, so at least k+1 entries lose d of their excess. A merge adds
// excesses, Absents and Totals. So at all times the sum of the excesses is at most
// Total - (k+1)*Absent, and it is never negative.
type Sketch struct {
	capacity int
	entries  []Entry
	index    []int32 // a hash table with linear probing: positions in entries, plus 1
	counts   []int64 // scratch space of Prune
	names    int64   // bytes of the entries' names
	total    int64
	sampled  int64
	absent   int64
}

// New returns an empty Sketch with at most capacity entries, 2 or more, that keeps
// capacity/2 of them when it is full. If capacity is 0 it keeps all.
func New(capacity int) *Sketch { return &Sketch{capacity: capacity} }

// Len returns the number of entries.
func (s *Sketch) Len() int { return len(s.entries) }

// Total returns the sum of all that was added.
func (s *Sketch) Total() int64 { return s.total }

// Sampled returns the part of Total that was added by more than 1 at a time.
func (s *Sketch) Sampled() int64 { return s.sampled }

// Absent returns an upper bound of the count of each key without an entry.
func (s *Sketch) Absent() int64 { return s.absent }

// Bytes returns the memory that s takes, with names that other Sketches may share.
func (s *Sketch) Bytes() int64 {
	return int64(unsafe.Sizeof(*s)) + s.names + int64(cap(s.entries))*int64(unsafe.Sizeof(Entry{})) +
		int64(cap(s.index))*4 + int64(cap(s.counts))*8
}

// Entries returns the entries in no particular order. They are valid until the next
// change.
func (s *Sketch) Entries() []Entry { return s.entries }

// Add adds n to the count of a key, given with its Hash, and keeps last with it. It
// allocates only if the key is new.
func (s *Sketch) Add(hash uint64, db int, name []byte, n int64, last [2]int64) {
	s.total += n
	if n > 1 {
		s.sampled += n
	}
	s.makeIndex()
	for i := s.home(hash); s.index[i] != 0; i = (i + 1) & (len(s.index) - 1) {
		if e := &s.entries[s.index[i]-1]; e.hash == hash && e.Name == string(name) && e.DB == db {
			e.Count += n
			e.keep(last)
			return
		}
	}
	e := Entry{Key{db, string(name)}, n, 0, last, hash}
	if s.capacity > 0 && len(s.entries) >= s.capacity {
		s.Prune(s.capacity / 2)
	}
	e.Count, e.Error = e.Count+s.absent, s.absent
	s.append(&e)
}

// find returns the position of an entry's key in s, or -1. It requires the index.
func (s *Sketch) find(e *Entry) int {
	for i := s.home(e.hash); s.index[i] != 0; i = (i + 1) & (len(s.index) - 1) {
		if at := s.index[i] - 1; s.entries[at].hash == e.hash && s.entries[at].Key == e.Key {
			return int(at)
		}
	}
	return -1
}

// append appends an entry for a key that has none. It requires the index.
func (s *Sketch) append(e *Entry) {
	s.entries = append(s.entries, *e)
	s.names += int64(len(e.Name))
	if 2*len(s.entries) > len(s.index) {
		s.index = nil
		s.makeIndex()
		return
	}
	s.place(len(s.entries) - 1)
}

// place enters the entry at a position into the index.
func (s *Sketch) place(at int) {
	i := s.home(s.entries[at].hash)
	for s.index[i] != 0 {
		i = (i + 1) & (len(s.index) - 1)
	}
	s.index[i] = int32(at + 1)
}

// home returns where the search for a hash begins in the index.
func (s *Sketch) home(hash uint64) int { return int(hash>>32) & (len(s.index) - 1) }

// makeIndex makes the index, with a length that is a power of two, if there is none.
func (s *Sketch) makeIndex() {
	if s.index == nil {
		s.index = make([]int32, 4<<bits.Len(uint(len(s.entries))))
		s.fillIndex()
	}
}

func (s *Sketch) fillIndex() {
	for i := range s.entries {
		s.place(i)
	}
}

// Prune drops all but the n entries with the highest counts.
func (s *Sketch) Prune(n int) {
	if len(s.entries) <= n {
		return
	}
	cut, ties := s.cut(n)
	s.absent = max(s.absent, cut)
	kept := s.entries[:0]
	for _, e := range s.entries {
		if e.Count == cut && ties > 0 {
			ties--
		} else if e.Count <= cut {
			s.names -= int64(len(e.Name))
			continue
		}
		kept = append(kept, e)
	}
	clear(s.entries[len(kept):])
	s.entries = kept
	if s.index != nil {
		clear(s.index)
		s.fillIndex()
	}
}

// cut returns the highest count that is not among the n highest, and how many of the
// entries with that count are.
func (s *Sketch) cut(n int) (count int64, ties int) {
	s.counts = s.counts[:0]
	for i := range s.entries {
		s.counts = append(s.counts, s.entries[i].Count)
	}
	slices.Sort(s.counts)
	top := s.counts[len(s.counts)-n:]
	count = s.counts[len(s.counts)-n-1]
	for ties < n && top[ties] == count {
		ties++
	}
	return count, ties
}

func (e *Entry) keep(last [2]int64) {
	if last != [2]int64{} {
		e.Last = last
	}
}

// Merge adds the stream of another Sketch, which is later and does not change.
func (s *Sketch) Merge(o *Sketch) {
	if o.total == 0 {
		return
	}
	s.makeIndex()
	s.total += o.total
	s.sampled += o.sampled
	for i := range s.entries {
		s.entries[i].Count += o.absent
		s.entries[i].Error += o.absent
	}
	absent := s.absent
	s.absent += o.absent
	for i := range o.entries {
		e := o.entries[i]
		if at := s.find(&e); at >= 0 {
			s.entries[at].Count += e.Count - o.absent
			s.entries[at].Error += e.Error - o.absent
			s.entries[at].keep(e.Last)
			continue
		}
		e.Count += absent
		e.Error += absent
		s.append(&e)
	}
	if s.capacity > 0 && len(s.entries) > s.capacity {
		s.Prune(s.capacity / 2)
	}
}

// Reset removes everything. The memory is reused.
func (s *Sketch) Reset() {
	clear(s.entries)
	clear(s.index)
	s.entries, s.total, s.sampled, s.absent, s.names = s.entries[:0], 0, 0, 0, 0
}

// compacted returns a copy with the n highest entries, in as little memory as possible.
func (s *Sketch) compacted(n int) *Sketch {
	c := &Sketch{
		total: s.total, sampled: s.sampled, absent: s.absent,
		entries: slices.Clone(s.entries), names: s.names,
	}
	c.Prune(n)
	c.entries, c.counts = slices.Clip(slices.Clone(c.entries)), nil
	return c
}
