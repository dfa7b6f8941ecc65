package doctor

import (
	"bytes"
	"hash/maphash"
	"math"
	"sync/atomic"

	"github.com/zlimit/zlimit/store"
)

// patterns are what was seen of patterns of keys: how many had something and how many
// lacked it. Each is in the place that its hash gives it, and displaces the one before. A
// place is 48 bits of the hash and two counts of 8 bits.
type patterns [1 << 11]atomic.Uint64

// takenBack is, beside the types of values, a kind of what was seen: hits that were removed.
const takenBack = uint8(store.NumTypes)

// pattern returns the hash of a key's pattern, for a kind.
func (d *Doctor) pattern(key []byte, kind uint8) uint64 {
	var room [2 * maxPattern]byte
	return maphash.Bytes(d.seed, append(appendPattern(room[:0], key), kind))
}

func (o *call) pattern(kind uint8) uint64 { return o.client.doctor.pattern(o.key, kind) }

// isOneOfMany reports whether a part of a key's name stands for one caller, address or slice
// of time.
func isOneOfMany(key []byte) bool {
	var room [2 * maxPattern]byte
	return bytes.IndexByte(appendPattern(room[:0], key), '*') >= 0
}

const countBits, countMask = 8, 1<<8 - 1

// add counts a key that had something or lacked it. Of calls at the same time one may be
// lost.
func (p *patterns) add(pattern uint64, had bool) {
	with, without := p.counts(pattern)
	if had {
		with++
	} else {
		without++
	}
	if max(with, without) > countMask {
		with, without = with/2, without/2
	}
	place := &p[pattern%uint64(len(p))]
	place.Store(pattern>>(2*countBits)<<(2*countBits) | uint64(with)<<countBits | uint64(without))
}

// counts returns how many keys of a pattern had something and how many lacked it.
func (p *patterns) counts(pattern uint64) (with, without int) {
	v := p[pattern%uint64(len(p))].Load()
	if v>>(2*countBits) != pattern>>(2*countBits) {
		return 0, 0
	}
	return int(v >> countBits & countMask), int(v & countMask)
}

// lifetimes are the times to live that keys of a pattern get: 24 bits of the pattern's hash,
// 8 of how often in a row, and 32 of the milliseconds.
type lifetimes [1 << 9]atomic.Uint64

// steady is how often in a row a pattern's keys get one time to live, if that is theirs.
const steady = 8

// strange reports whether a time to live is a thousand times that of the other keys of the
// pattern, or a thousandth. Others it remembers.
func (l *lifetimes) strange(pattern uint64, ttlMs int64) bool {
	if ttlMs <= 0 || ttlMs > math.MaxUint32 {
		return false
	}
	place := &l[pattern%uint64(len(l))]
	v := place.Load()
	of, times, before := v>>40, v>>32&countMask, int64(v&math.MaxUint32)
	switch {
	case of != pattern>>40, ttlMs != before && times < steady:
		times = 0
	case ttlMs == before*1000, ttlMs*1000 == before:
		return true
	case ttlMs != before:
		times = 0
	}
	times = min(times+1, steady)
	place.Store(pattern>>40<<40 | times<<32 | uint64(ttlMs))
	return false
}
