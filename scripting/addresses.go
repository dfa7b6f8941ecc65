package scripting

import "unsafe"

// addresses is a set of places in the heap, for a walk that must count what it
// meets once. It keeps bits, not pointers: what a walk holds comes on top of
// what it counts, and for objects that lie close together that is two bytes for
// each. Go's heap does not move.
//
// Places within 16 bytes are one: objects of a script's take as much, and so do
// strings, unless they are parts of one, which then cost nothing.
type addresses struct {
	blocks map[uintptr]*addressBlock
	last   uintptr // key of the block used last
	block  *addressBlock
}

const (
	addressGrain = 16
	addressBits  = 12
)

type addressBlock [1 << addressBits / 64]uint64

// add adds a place. It reports whether it is new.
func (a *addresses) add(p unsafe.Pointer) bool {
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
