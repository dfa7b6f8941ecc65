package local

import (
	"hash/maphash"
	"sync/atomic"
)

// epochs count the commands that may have changed a key otherwise than by decisions. What is known
// of a key counts while its epoch is the one before the decision was asked for. Keys share epochs.
type epochs struct {
	seed maphash.Seed
	of   [4096]atomic.Uint64
	all  atomic.Uint64
}

// Epoch returns the epoch of a key. Ask before a decision is asked for.
func (e *epochs) Epoch(key []byte) uint64 { return e.slot(key).Load() + e.all.Load() }

// Forget ends what is known of a key.
func (e *epochs) Forget(key []byte) { e.slot(key).Add(1) }

// ForgetAll ends what is known of all keys.
func (e *epochs) ForgetAll() { e.all.Add(1) }

func (e *epochs) slot(key []byte) *atomic.Uint64 {
	return &e.of[maphash.Bytes(e.seed, key)%uint64(len(e.of))]
}
