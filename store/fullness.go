package store

import "github.com/zlimit/zlimit/store/dict"

// Under the policy limiter-aware a stamp is, from the highest bits on, the time of the last use in units of
// four seconds, modulo 2^16 (three days), and how full the key's limit was at the last decision about it.

const (
	fullnessUnitS = 4
	fullnessClock = 1<<16 - 1

	// Denying is the fullness of a key at which the last call was denied.
	Denying = 255
	// Full is the fullness of a key that has room for nothing, but has denied nothing yet.
	Full = 254
)

func withFullness(second uint32, fullness uint8) uint32 {
	return second/fullnessUnitS&fullnessClock<<8 | uint32(fullness)
}

func fullnessOf(stamp uint32) uint8 { return uint8(stamp) }

func fullnessIdle(stamp, second uint32) int64 {
	return int64((second/fullnessUnitS-stamp>>8)&fullnessClock) * fullnessUnitS
}

// SetFullness records how full the limit of a key is, from 0 to Denying, if stamps have that and the key
// exists. It counts as use.
func (db *DB) SetFullness(key []byte, fullness uint8, nowMs int64) {
	if db.store.stampKind() != StampFullness {
		return
	}
	hash := dict.Hash(key)
	if n := db.shardAt(hash).keys.Get(hash, key); n != nil {
		n.SetStamp(withFullness(uint32(nowMs/1000), fullness))
	}
}
