package store

import "runtime"

// A Yielder makes a walk through the keyspace yield the processor regularly. Otherwise the walk runs for long
// time slices, and commands wait for it. A Yielder belongs to one goroutine.
type Yielder struct {
	Every int    // keys between two yields: some hundreds of microseconds
	Yield func() // nil: runtime.Gosched

	Yields int // number of yields

	keys int // since the last yield
}

// Add counts visited keys, and yields after every Every of them.
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
