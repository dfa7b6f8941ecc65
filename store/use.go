package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/dict"
)

// A node's stamp, 24 bits, says how a key was used. What it means depends on what evicts keys:
//
//   - usually it is the time of the last use: unix time in seconds modulo 2^24, which is 194 days, as in
//     Redis. OBJECT IDLETIME reads it.
//   - under LFU it is a frequency, as in Redis: 16 bits of minutes and a logarithmic counter. See lfu.go.
//   - under the policy limiter-aware it is 16 bits of time, in units of four seconds, and eight bits of how
//     full the key's limit was at the last decision. See fullness.go.
//
// After a change of the policy, old stamps are read as if they were new ones, as in Redis.
//
// Lookup and Find set the stamp, Peek does not; see Redis' LOOKUP_NOTOUCH. A new key gets the time of the
// last lookup in its shard. Commands look a key up before they create it; callers that do not use SetIdle.

// Stamps is what stamps mean.
type Stamps uint8

// The values of Stamps.
const (
	StampTime Stamps = iota
	StampFrequency
	StampFullness
)

// A stamping says how a key is stamped when it is used and when it is created.
type stamping struct {
	kind Stamps
	lfu  lfu
}

// SetStamps sets what stamps mean from now on; logFactor and decayMinutes are lfu-log-factor and
// lfu-decay-time. It may be called at any time.
func (s *Store) SetStamps(kind Stamps, logFactor, decayMinutes int64) {
	s.stamping.Store(&stamping{kind, lfu{logFactor, decayMinutes}})
}

func (s *Store) stampKind() Stamps { return s.stamping.Load().kind }

// UseClock returns the stamp of an instant, shown by INFO as lru_clock.
func UseClock(nowMs int64) uint32 { return uint32(nowMs/1000) & dict.MaxStamp }

// markUsed stamps a node that is used, unless NoTouch is set for its shard. second is the time, in unix
// seconds; its low bits are UseClock's stamp.
func (db *DB) markUsed(n *Node, second uint32) {
	if n.Stamp() == second&dict.MaxStamp && db.store.stampKind() == StampTime {
		return
	}
	if !db.store.locks[shardIndex(n.Hash())].noTouch {
		db.stamp(n, second)
	}
}

// StampZeroAs sets the second, in unix time, that stands for second 0 in stamps: commands of a master run at
// instant 0, where nothing has expired.
func (s *Store) StampZeroAs(second uint32) { s.zeroS.Store(second) }

// stampSecond returns the second to stamp.
func (s *Store) stampSecond(second uint32) uint32 {
	if second == 0 {
		return s.zeroS.Load()
	}
	return second
}

func (db *DB) stamp(n *Node, second uint32) {
	second = db.store.stampSecond(second)
	switch how := db.store.stamping.Load(); how.kind {
	case StampTime:
		n.SetStamp(second & dict.MaxStamp)
	case StampFrequency:
		n.SetStamp(how.lfu.used(n.Stamp(), second))
	case StampFullness:
		n.SetStamp(withFullness(second, fullnessOf(n.Stamp())))
	}
}

// stampNew stamps a node that was just created.
func (db *DB) stampNew(n *Node, second uint32) {
	second = db.store.stampSecond(second)
	switch db.store.stampKind() {
	case StampTime:
		n.SetStamp(second & dict.MaxStamp)
	case StampFrequency:
		n.SetStamp(lfuStamp(second, lfuInitial))
	case StampFullness:
		n.SetStamp(withFullness(second, 0))
	}
}

// LookupTouch is Lookup for TOUCH: it marks the key as used in spite of NoTouch.
func (db *DB) LookupTouch(key []byte, nowMs int64) *Node {
	n := db.Peek(key, nowMs)
	if n != nil {
		db.stamp(n, uint32(nowMs/1000))
	}
	return n
}

// IdleSeconds returns for how long a key has not been used. A stamp ahead of the clock, after the clock was
// set back, counts as one of the previous 194 days. Under the policy limiter-aware the result is a multiple
// of four.
func (db *DB) IdleSeconds(n *Node, nowMs int64) int64 {
	if db.store.stampKind() == StampFullness {
		return fullnessIdle(n.Stamp(), uint32(nowMs/1000))
	}
	return idleSeconds(n.Stamp(), UseClock(nowMs))
}

func idleSeconds(stamp, clock uint32) int64 {
	if clock >= stamp {
		return int64(clock - stamp)
	}
	return int64(clock + (dict.MaxStamp - stamp)) // one second too few, as in Redis
}

// SetIdle makes a key idle for the given number of seconds, unless stamps are frequencies. If that is more
// than the clock has counted since it last wrapped to 0, the key becomes idle for half of the clock's range.
func (db *DB) SetIdle(n *Node, seconds, nowMs int64) {
	switch db.store.stampKind() {
	case StampFrequency:
		n.SetStamp(lfuStamp(uint32(nowMs/1000), lfuInitial))
		return
	case StampFullness:
		at := max(nowMs/1000-seconds, 0)
		n.SetStamp(withFullness(uint32(at), fullnessOf(n.Stamp())))
		return
	}
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
