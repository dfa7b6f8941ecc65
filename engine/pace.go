package engine

import "runtime"

// A pace is that of a walk through the keyspace, which must leave the processor
// to others now and then: one that never does gets a long turn each time, and all
// who wait behind it feel that.
type pace struct {
	engine *Engine
	every  int // keys between two rests: some hundreds of microseconds
	keys   int // since the last
	rests  int // so far
}

// walked notes that the walk has come by some keys more, and rests if that is
// enough for a while.
func (p *pace) walked(keys int) {
	if p.keys += keys; p.keys < p.every {
		return
	}
	p.keys = 0
	p.rests++
	if pause := p.engine.options.Pause; pause != nil {
		pause()
	} else {
		runtime.Gosched()
	}
}
