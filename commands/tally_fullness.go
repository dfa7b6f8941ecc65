package commands

// FullnessBuckets is the number of buckets of a Fullness: up to 0.1, 0.2 and so on up to 1.
const FullnessBuckets = 10

// Fullness is a histogram of how full the limits of keys were after decisions about them.
type Fullness struct {
	Buckets [FullnessBuckets]int64 // not cumulative
	Sum     float64
}

// observe counts a decision after which the limit is full to f, from 0 to 1. A value on a
// bound belongs to the bucket below it.
func (h *Fullness) observe(f float64) {
	tenths := f * FullnessBuckets
	i := int(tenths)
	if i > 0 && float64(i) == tenths {
		i--
	}
	h.Buckets[min(i, FullnessBuckets-1)]++
	h.Sum += f
}

func (h *Fullness) add(o *Fullness) {
	for i, n := range o.Buckets {
		h.Buckets[i] += n
	}
	h.Sum += o.Sum
}

func (h *Fullness) subtract(o *Fullness) {
	for i, n := range o.Buckets {
		h.Buckets[i] = max(h.Buckets[i]-n, 0)
	}
	h.Sum = max(h.Sum-o.Sum, 0)
}
