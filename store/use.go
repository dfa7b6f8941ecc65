package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/dict"
)

// When a key was used last stands in its node's stamp, 24 bits, as in Redis: the
// seconds of the unix time, modulo 2^24, which is 194 days. Commands read it as
// OBJECT IDLETIME. The same bits are enough for how often a key is used, 16 of
// them for minutes and eight for a counter, where a policy asks for that.
//
// Lookup and Find set the stamp, Peek leaves it; see Redis' LOOKUP_NOTOUCH. What
// is made gets the time of the last look at its shard: commands look before they
// make a key, and those who do not say the time by SetIdle.

// UseClock returns the stamp of an instant, which INFO shows as lru_clock.
func UseClock(nowMs int64) uint32 { return uint32(nowMs/1000) & dict.MaxStamp }

// used marks a node as used at nowMs, unless whoever holds the shard leaves no
// marks.
func (db *DB) used(n *Node, clock uint32) {
	if n.Stamp() != clock && !db.store.locks[n.Hash()>>(hashBits-shardBits)].noTouch {
		n.SetStamp(clock)
	}
}

// Touched is Lookup that notes the use whatever NoTouch says: TOUCH is for that.
func (db *DB) Touched(key []byte, nowMs int64) *Node {
	n := db.Peek(key, nowMs)
	if n != nil {
		n.SetStamp(UseClock(nowMs))
	}
	return n
}

// IdleSeconds returns for how long a key has not been used. What would lie ahead
// of the clock, after it was set back, was used 194 days before that.
func IdleSeconds(n *Node, nowMs int64) int64 {
	clock, stamp := UseClock(nowMs), n.Stamp()
	if clock >= stamp {
		return int64(clock - stamp)
	}
	return int64(clock + (dict.MaxStamp - stamp)) // a second less than is right, as in Redis
}

// SetIdle makes a key one that has not been used for so many seconds. More than
// the clock has counted since it was last 0 become half of what it can count.
func SetIdle(n *Node, seconds, nowMs int64) {
	clock := int64(UseClock(nowMs))
	if clock < seconds {
		n.SetStamp(uint32((clock + dict.MaxStamp/2) % dict.MaxStamp))
		return
	}
	n.SetStamp(uint32(clock - seconds))
}

// NoTouch makes lookups in the given shards, which the caller holds, leave the
// stamps as they are, until it is called with false.
func (s *Store) NoTouch(shards ShardSet, on bool) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].noTouch = on
	}
}
