package commands

import (
	"iter"
	"math/bits"
)

// An lcsTable finds a longest common subsequence of two texts.
//
// Let L(i, j) be its length for the first i bytes of a and the first j of b. In a row i,
// L grows by 0 or 1 from one j to the next; a row is stored as a bit for each j, 0 if L
// grows. The next row V' follows from V for 64 bits at once: if M has the positions of
// the next byte of a in b, V' is (V + (V & M)) | (V &^ M), and the carries of the sum
// run along the row (Hyyrö, Bit-Parallel LCS-length Computation Revisited, 2004). That
// takes len(a)*len(b)/64 steps, and to find the matches a bit for each pair of
// positions.
type lcsTable struct {
	a, b []byte
	row  []uint64 // the last one
	grew []uint64 // a bit for each i from 1 and j, row by row: L grew there; nil: matches are not wanted
}

func newLCSTable(a, b []byte, wayBack bool) *lcsTable {
	t := &lcsTable{a: a, b: b, row: make([]uint64, (len(b)+63)/64)}
	for w := range t.row {
		t.row[w] = ^uint64(0)
	}
	if len(b) == 0 {
		return t
	}
	if wayBack {
		t.grew = make([]uint64, (len(a)*len(b)+63)/64)
	}
	places := t.places()
	for i, ch := range a {
		t.advance(places[ch])
		if wayBack {
			t.keep(i * len(b))
		}
	}
	return t
}

// places returns the positions in b of every byte of a.
func (t *lcsTable) places() (places [256][]uint64) {
	for _, ch := range t.a {
		if places[ch] == nil {
			places[ch] = make([]uint64, len(t.row))
		}
	}
	for j, ch := range t.b {
		if row := places[ch]; row != nil {
			row[j/64] |= 1 << (j % 64)
		}
	}
	return places
}

// advance computes the next row, whose byte has these positions.
func (t *lcsTable) advance(places []uint64) {
	carry := uint64(0)
	for w, v := range t.row {
		m := places[w]
		var sum uint64
		sum, carry = bits.Add64(v, v&m, carry)
		t.row[w] = sum | v&^m
	}
}

// keep stores the row, inverted, from a bit on.
func (t *lcsTable) keep(at int) {
	for left, w := len(t.b), 0; left > 0; left, w, at = left-64, w+1, at+64 {
		v := ^t.row[w]
		if left < 64 {
			v &= 1<<left - 1
		}
		t.grew[at/64] |= v << (at % 64)
		if rest := v >> (64 - at%64); rest != 0 {
			t.grew[at/64+1] |= rest
		}
	}
}

// grewAt reports whether L(i, j) is above L(i, j-1).
func (t *lcsTable) grewAt(i, j int) bool {
	at := (i-1)*len(t.b) + j - 1
	return t.grew[at/64]>>(at%64)&1 != 0
}

// length returns the length of the subsequence.
func (t *lcsTable) length() (n int) {
	for _, v := range t.row { // bits after the end of b stay 1
		n += 64 - bits.OnesCount64(v)
	}
	return n
}

// An lcsMatch is a common part: its beginning in both texts, and its length.
type lcsMatch struct{ a, b, length int }

// matches yields the parts of the subsequence, from the ends of both texts back. Of
// several longest ones it is the one that Redis finds: it omits a byte of b rather than
// of a.
func (t *lcsTable) matches() iter.Seq[lcsMatch] {
	return func(yield func(lcsMatch) bool) {
		var m lcsMatch
		for i, j := len(t.a), len(t.b); i > 0 && j > 0; {
			if t.a[i-1] == t.b[j-1] {
				i, j = i-1, j-1
				m = lcsMatch{i, j, m.length + 1}
				continue
			}
			if m.length > 0 && !yield(m) {
				return
			}
			m = lcsMatch{}
			if t.grewAt(i, j) {
				i--
			} else {
				j--
			}
		}
		if m.length > 0 {
			yield(m)
		}
	}
}
