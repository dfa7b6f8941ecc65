package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/dict"
)

// The time of a key's last use is in its node's stamp, 24 bits, as in Redis: unix time in seconds modulo
// 2^24, which is 194 days. OBJECT IDLETIME reads it. The same bits suffice for LFU: 16 bits for minutes and
// eight for a counter.
//
// Lookup and Find set the stamp, Peek does not; see Redis' LOOKUP_NOTOUCH. A new key gets the time of the
// last lookup in its shard. Commands look a key up before they create it; callers that do not use SetIdle.

// UseClock returns the stamp of an instant, shown by INFO as lru_clock.
func UseClock(nowMs int64) uint32 { return uint32(nowMs/1000) & dict.MaxStamp }

// markUsed sets a node's stamp to clock, unless NoTouch is set for its shard.
func (db *DB) markUsed(n *Node, clock uint32) {
	if n.Stamp() != clock && !db.store.locks[n.Hash()>>(hashBits-shardBits)].noTouch {
		n.SetStamp(clock)
	}
}

// LookupTouch is Lookup for TOUCH: it marks the key as used in spite of NoTouch.
func (db *DB) LookupTouch(key []byte, nowMs int64) *Node {
	n := db.Peek(key, nowMs)
	if n != nil {
		n.SetStamp(UseClock(nowMs))
	}
	return n
}

// IdleSeconds returns for how long a key has not been used. A stamp ahead of the clock, after the clock was
// set back, counts as one of the previous 194 days.
func IdleSeconds(n *Node, nowMs int64) int64 {
	clock, stamp := UseClock(nowMs), n.Stamp()
	if clock >= stamp {
		return int64(clock - stamp)
	}
	return int64(clock + (dict.MaxStamp - stamp)) // one second too few, as in Redis
}

// SetIdle makes a key idle for the given number of seconds. If that is more than the clock has counted since
// it last wrapped to 0, the key becomes idle for half of the clock's range.
func SetIdle(n *Node, seconds, nowMs int64) {
	clock := int64(UseClock(nowMs))
	if clock < seconds {
		n.SetStamp(uint32((clock + dict.MaxStamp/2) % dict.MaxStamp))
		return
	}
	n.SetStamp(uint32(clock - seconds))
}

// NoTouch sets whether lookups in the given shards leave the stamps alone.
func (s *Store) NoTouch(shards ShardSet, on bool) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].noTouch = on
	}
}
