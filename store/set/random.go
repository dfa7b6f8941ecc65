package set

// Random returns a member, each with the same chance; rnd(n) must return a
// number below n, each with the same chance. The set must not be empty.
func (s *Set) Random(rnd func(n uint64) uint64) Member {
	if s.table == nil {
		return Member{num: s.ints[rnd(uint64(len(s.ints)))], isNumber: true}
	}
	return Member{text: s.table.Random(rnd).Key()}
}

// sparse is the share of the members, one in so many, up to which Sample draws
// single ones: a draw from a hash table costs a few dozen steps of a walk.
const sparse = 32

// Sample calls fn with n different members, each subset of that size with the
// same chance, in no order that means anything; with all where there are not
// more than n. It costs O(n) for a small part of a large set, else O(Len). fn
// must not change the set.
func (s *Set) Sample(n int, rnd func(n uint64) uint64, fn func(Member)) {
	size := s.Len()
	if n <= size/sparse {
		s.drawSample(n, rnd, fn)
		return
	}
	// Selection sampling (Knuth, algorithm S): a walk takes each member with
	// the chance that it still needs.
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

// drawSample draws until n different members have come. Nearly all draws are
// new: n is a small part of the set.
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
