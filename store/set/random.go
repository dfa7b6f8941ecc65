package set

// Random returns a member; rnd(n) must return a number below n. If rnd is uniform, so is Random. The set must
// not be empty.
func (s *Set) Random(rnd func(n uint64) uint64) Member {
	if s.table == nil {
		return Member{num: s.ints[rnd(uint64(len(s.ints)))], isNumber: true}
	}
	return Member{text: s.table.Random(rnd).Key()}
}

// sparse is the divisor of the largest share of members for which Sample draws single members. A draw from a
// hash table costs as much as a few dozen steps of an iteration.
const sparse = 32

// Sample calls fn with n different members, in no particular order, each subset with the same probability, or
// with all members if there are no more than n. It costs O(n) for a small part of a large set, and O(Len)
// otherwise. fn must not change the set.
func (s *Set) Sample(n int, rnd func(n uint64) uint64, fn func(Member)) {
	size := s.Len()
	if n <= size/sparse {
		s.drawSample(n, rnd, fn)
		return
	}
	// Selection sampling (Knuth, algorithm S): each member is selected with the probability need/left.
	need, left := min(n, size), size
	for m := range s.All() {
		if need == 0 {
			return
		}
		if rnd(uint64(left)) < uint64(need) {
			fn(m)
			need--
		}
		left--
	}
}

// drawSample draws until it has n different members. As n is a small part of the set, few draws repeat.
func (s *Set) drawSample(n int, rnd func(n uint64) uint64, fn func(Member)) {
	drawn := make(map[Member]struct{}, n)
	for len(drawn) < n {
		m := s.Random(rnd)
		if _, again := drawn[m]; !again {
			drawn[m] = struct{}{}
			fn(m)
		}
	}
}
