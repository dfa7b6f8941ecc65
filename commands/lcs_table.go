package commands

import (
	"iter"
	"math/bits"
)

// An lcsTable finds a longest common subsequence of two texts.
//
// Let L(i, j) be its length for the first i bytes of a and the first j of b. In a
// row i, L grows by 1 or not at all from one j to the next; a row is kept as a bit
// for each j, 0 where it grows. The next row V' follows from V for 64 of them at
// once: with M the places where b has the next byte of a, it is
// (V + (V & M)) | (V &^ M), where the carries of the sum run along the row (Hyyrö,
// Bit-Parallel LCS-length Computation Revisited, 2004). That takes
// len(a)*len(b)/64 steps, and a bit for each pair of positions where a way back
// is asked for.
type lcsTable struct {
	a, b []byte
	row  []uint64 // the last one
	grew []uint64 // a bit for each i from 1 and j, row by row: L grew there; nil: no way back
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

// places returns, for every byte that a has, where b has it.
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

// advance goes on to the next row, whose byte has these places.
func (t *lcsTable) advance(places []uint64) {
	carry := uint64(0)
	for w, v := range t.row {
		m := places[w]
		var sum uint64
		sum, carry = bits.Add64(v, v&m, carry)
		t.row[w] = sum | v&^m
	}
}

// keep writes the row, inverted, from a bit on.
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

// length is that of the subsequence.
func (t *lcsTable) length() (n int) {
	for _, v := range t.row { // behind the end of b every bit stays 1
		n += 64 - bits.OnesCount64(v)
	}
	return n
}

// An lcsMatch is a part of both texts: where it begins in each, and its length.
type lcsMatch struct{ a, b, length int }

// matches walks from the ends of both texts back and yields the parts of which
// the subsequence is made. Where there are several longest ones it is Redis': it
// leaves out a byte of b rather than of a.
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
