package zset

import "unsafe"

// ReadAheadSteps is the number of steps that ReadAhead has.
const ReadAheadSteps = 4

// ReadAhead reads memory that appending a unit or counting the latest ones will read: in step 0 of the Set
// itself, in each later step of what the one before refers to. A caller that runs a step for many sets before
// the next waits for their memory together. It returns a number without meaning, so that the reads are not
// optimized away.
func (s *Set) ReadAhead(step int) byte {
	switch {
	case step == 0:
		return s.kind
	case s.body == nil:
		return 0
	case s.kind == kindBlock:
		return s.readBlockAhead(step)
	case s.kind == kindBlocks:
		return s.blocks().readAhead(step)
	case step == 1:
		return *(*byte)(s.body)
	case step == 2 && s.kind == kindPacked && len(s.packed().data) > 0:
		return s.packed().data[0]
	}
	return 0
}

// readBlockAhead reads the last score and the latest token.
func (s *Set) readBlockAhead(step int) byte {
	switch step {
	case 1:
		return *(*byte)(s.body)
	case 2:
		return *(*byte)(unsafe.Add(s.body, s.used))
	}
	return 0
}

// readAhead reads the directory's header, its first and last entries, the last block, and the sums of units.
func (b *logBlocks) readAhead(step int) byte {
	if step == 1 {
		return byte(b.end)
	}
	last := &b.list[len(b.list)-1]
	w := b.weights
	switch step {
	case 2:
		sum := last.used + b.list[b.head].used
		if w != nil {
			sum += byte(w.end)
		}
		return sum
	case 3:
		sum := byte(0)
		if last.data != nil {
			sum = last.data[0] + last.data[max(last.used, 1)-1]
		}
		if w != nil {
			sum += byte(w.before[b.head])
		}
		return sum
	}
	return 0
}
