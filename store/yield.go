package store

import "runtime"

// A Yielder makes a walk through the keyspace yield the processor now and then.
// A walk that never does is given long turns, and every command that waits
// behind it is late. It belongs to one goroutine.
type Yielder struct {
	Every int    // keys between two yields: some hundreds of microseconds
	Yield func() // nil: runtime.Gosched

	Yields int // so far

	keys int // since the last
}

// Add counts keys that the walk has visited, and yields if there were Every.
func (y *Yielder) Add(keys int) {
	if y.keys += keys; y.keys < y.Every {
		return
	}
	y.keys = 0
	y.Yields++
	if y.Yield != nil {
		y.Yield()
	} else {
		runtime.Gosched()
	}
}
