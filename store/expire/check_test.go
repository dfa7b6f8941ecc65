package expire

import "fmt"

// check walks the heap and reports the first broken invariant.
func (x *Index[T]) check() error {
	room := 0
	for i, c := range x.chunks {
		if i > 0 && len(c) != chunkLen || len(c) > chunkLen {
			return fmt.Errorf("chunk %d has %d slots", i, len(c))
		}
		room += len(c)
	}
	most := max(minSlots, 4*x.n)
	switch {
	case x.n == 0:
		most = 0
	case len(x.chunks) > 1:
		most = x.n + chunkLen + chunkLen/2
	}
	if x.n > room || room > most {
		return fmt.Errorf("room for %d slots, %d used", room, x.n)
	}
	for i := range x.n {
		s := x.at(i)
		if h := x.handle(s.item); int(h.place) != i+1 || h.bound != boundOf(s.dueMs) {
			return fmt.Errorf("slot %d (due %d): handle says place %d, due %d", i, s.dueMs, h.place, h.bound)
		}
		if i > 0 && s.dueMs < x.at((i-1)/arity).dueMs {
			return fmt.Errorf("slot %d is due at %d, before its parent", i, s.dueMs)
		}
	}
	for i := x.n; i < room; i++ {
		if x.at(i).dueMs != 0 {
			return fmt.Errorf("free slot %d still holds something", i)
		}
	}
	return nil
}
