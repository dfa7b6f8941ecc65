package call

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// A Bound is what the replies to calls that are run together may take. What passes it is dropped. Its methods
// may be called concurrently, since nodes answer at the same time; nil is no bound.
type Bound struct {
	bounds commands.OutputBounds
	bytes  atomic.Int64
	passed atomic.Bool
}

// NewBound returns a bound, or nil if there is none.
func NewBound(b commands.OutputBounds) *Bound {
	if !b.Bounded() {
		return nil
	}
	return &Bound{bounds: b}
}

// Add adds n bytes, which may be negative: a reply that was broken off. It reports whether the replies are
// within the bound.
func (b *Bound) Add(n int64) bool {
	if b == nil {
		return true
	}
	if b.bounds.Passed(b.bytes.Add(n)) {
		b.passed.Store(true)
	}
	return !b.passed.Load()
}

// Passed reports whether a reply, or a part of one, was dropped.
func (b *Bound) Passed() bool { return b != nil && b.passed.Load() }

// Bytes returns how large the replies were, whether they were kept or not.
func (b *Bound) Bytes() int64 { return b.bytes.Load() }
