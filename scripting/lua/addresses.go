package lua

import "unsafe"

// An addressSet is a set of heap addresses. It keeps bits instead of pointers: about two bytes for each of
// objects that lie close together. Go's heap does not move.
//
// Addresses within 16 bytes are equal. A script's objects take at least as
// much, and so do strings, unless they share a backing array.
type addressSet struct {
	blocks map[uintptr]*addressBlock
	last   uintptr // key of the block used last
	block  *addressBlock
}

const (
	addressGrain = 16
	addressBits  = 12
)

type addressBlock [1 << addressBits / 64]uint64

// add adds an address and reports whether it was absent.
func (a *addressSet) add(p unsafe.Pointer) bool {
	at := uintptr(p) / addressGrain
	key, bit := at>>addressBits, at&(1<<addressBits-1)
	if a.block == nil || key != a.last {
		if a.blocks == nil {
			a.blocks = make(map[uintptr]*addressBlock)
		}
		block := a.blocks[key]
		if block == nil {
			block = new(addressBlock)
			a.blocks[key] = block
		}
		a.last, a.block = key, block
	}
	word, mask := &a.block[bit/64], uint64(1)<<(bit%64)
	if *word&mask != 0 {
		return false
	}
	*word |= mask
	return true
}
