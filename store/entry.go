package store

import (
	"math"
	"unsafe"
)

// An Entry is what the keyspace stores under a key. Beside the pointer to the value there is one word, from
// the lowest bits on:
//
//	charge    12  bytes that the value counts for in the shard's memory: see memory.go
//	kind       3  type of the value, and where it is: see value.go; 7 is free for one more type
//	far        1  the pointer is to a farEntry, which has the value and the deadline
//	deadline  48  unix milliseconds, signed; 0: none
//
// 48 bits reach 4,459 years to either side of 1970. Redis accepts deadlines up to MaxInt64, so those that are
// further away are stored separately. The time of a key's last use is in the node's stamp: see use.go.
//
// Types after that need a kindBits of 4. The bit is the deadline's, which then reaches 2,229 years to either
// side; nothing else has to change.
type Entry struct {
	data unsafe.Pointer
	word uint64
}

const (
	chargeBits = 12
	kindAt     = chargeBits
	kindBits   = 3
	farBit     = 1 << (kindAt + kindBits)
	deadlineAt = kindAt + kindBits + 1
	kindMask   = (1<<kindBits-1)<<kindAt | farBit

	farthest = 1<<(64-deadlineAt-1) - 1 // of the deadlines that an entry holds itself
)

// farEntry is the entry of a key whose deadline does not fit the word.
type farEntry struct {
	data       unsafe.Pointer
	expireAtMs int64
}

// as returns the value if it is of this type, and nil otherwise.
func (e *Entry) as(t Type) unsafe.Pointer {
	if e.word&kindMask == (uint64(t)+1)<<kindAt {
		return e.data
	}
	return e.asFar(t)
}

func (e *Entry) asFar(t Type) unsafe.Pointer {
	if e.word&kindMask == (uint64(t)+1)<<kindAt|farBit {
		return (*farEntry)(e.data).data
	}
	return nil
}

// value returns the value and its type.
func (e *Entry) value() (unsafe.Pointer, Type) {
	kind := e.word >> kindAt & (1<<kindBits - 1)
	if kind == kindZSetHere {
		return unsafe.Pointer(e.setHere()), TypeZSet
	}
	if e.word&farBit != 0 {
		return (*farEntry)(e.data).data, Type(kind - 1)
	}
	return e.data, Type(kind - 1)
}

// replace sets the value to what p points to, which is not in the node.
func (e *Entry) replace(p unsafe.Pointer, t Type) {
	e.word = e.word&^((1<<kindBits-1)<<kindAt) | (uint64(t)+1)<<kindAt
	if e.word&farBit != 0 {
		(*farEntry)(e.data).data = p
		return
	}
	e.data = p
}

func (e *Entry) expires() bool { return e.word>>deadlineAt != 0 }

// ExpireAtMs returns the deadline in unix milliseconds; ok is false if there is none.
func (e *Entry) ExpireAtMs() (atMs int64, ok bool) {
	if e.word&farBit != 0 {
		return (*farEntry)(e.data).expireAtMs, true
	}
	atMs = int64(e.word) >> deadlineAt
	return atMs, atMs != 0
}

// isFar reports whether a deadline does not fit the word.
func isFar(atMs int64) bool { return atMs < -farthest || atMs > farthest }

// setExpireAtMs sets the deadline; 0 removes it. A value in the node allows no far one. It reports whether
// the memory of the entry changed.
func (e *Entry) setExpireAtMs(atMs int64) (resized bool) {
	was := e.word & farBit
	if was != 0 {
		e.data = (*farEntry)(e.data).data
		e.word &^= farBit
	}
	near := min(max(atMs, -farthest), farthest)
	e.word = uint64(near)<<deadlineAt | e.word&(1<<deadlineAt-1)
	if isFar(atMs) {
		e.data = unsafe.Pointer(&farEntry{data: e.data, expireAtMs: atMs})
		e.word |= farBit
	}
	return e.word&farBit != was
}

// overdue reports whether the key has expired at nowMs. At the deadline itself a key still exists, with a TTL
// of 0, as in Redis.
func (e *Entry) overdue(nowMs int64) bool {
	if e.word&farBit != 0 {
		return nowMs > (*farEntry)(e.data).expireAtMs
	}
	atMs := int64(e.word) >> deadlineAt
	return atMs != 0 && nowMs > atMs
}

// dueMs returns the first instant at which a key with this deadline has expired.
func dueMs(atMs int64) int64 {
	if atMs == math.MaxInt64 {
		return atMs
	}
	return atMs + 1
}
