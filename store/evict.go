package store

import (
	"math"
	"math/bits"

	"github.com/zlimit/zlimit/store/dict"
)

// This file chooses keys to evict: docs/adr/0033. As Redis does, it samples some keys, keeps the
// best candidates seen so far in a pool, and evicts the best of them. Redis has one pool; here each
// shard has its own, under the shard's lock, and the better of two shards' candidates is evicted,
// so that sessions make room side by side.

// An Eviction says which keys to evict. It does not change.
type Eviction struct {
	By       EvictBy
	Volatile bool // only keys with a deadline
	Samples  int  // keys to sample for each that is evicted: maxmemory-samples
}

// EvictBy is what decides between keys.
type EvictBy uint8

// The values of EvictBy.
const (
	EvictRandom    EvictBy = iota
	EvictIdle              // the one that was not used for longest
	EvictFrequency         // the one that is used least often
	EvictDeadline          // the one that expires first
	EvictFullness          // the one furthest below its limit, of several the one unused for longest
)

// Stamps returns what stamps must mean for the eviction.
func (v *Eviction) Stamps() Stamps {
	switch v.By {
	case EvictFrequency:
		return StampFrequency
	case EvictFullness:
		return StampFullness
	}
	return StampTime
}

const poolSize = 16

// An evictionPool has the best candidates of a shard, the best last. It has no pointers, so it keeps nothing
// alive and costs the collector nothing.
type evictionPool struct {
	by         EvictBy
	n          int
	candidates [poolSize]candidate // the first n
}

// A candidate is a key, known by its hash: should two keys of a shard have the same one, either may
// go if it is as good a candidate.
type candidate struct {
	score uint64 // the greater, the better
	hash  uint32
	db    int32
}

// Evict makes room in one of two different shards, whose locks must be held: it removes keys that
// have expired, or else the better one of the keys that v would choose in either, so that no shard
// runs out of the keys that should go first. It returns how many keys it has removed, 0 if there is
// none that it may remove, and how many of them had not expired. rnd returns a uniform number below
// n.
func (s *Store) Evict(
	shards [2]int, v *Eviction, nowMs int64, rnd func(n uint64) uint64,
) (removed, evicted int) {
	for _, shard := range shards {
		defer s.flushPending(shard)
		if n := s.reclaimDue(shard, nowMs); n > 0 {
			return n, 0
		}
	}
	var db *DB
	var n *Node
	if v.By == EvictRandom {
		db, n = s.anyOf(shards, v, rnd)
	} else {
		db, n = s.bestOf(shards, v, nowMs, rnd)
	}
	if n == nil {
		return 0, 0
	}
	db.evict(n)
	return 1, 1
}

// bestOf returns the better one of the best candidates of two shards, or nil. It samples keys of
// the first shard, and of the second one only if that has no candidates: reading random keys is
// what takes the time.
func (s *Store) bestOf(
	shards [2]int, v *Eviction, nowMs int64, rnd func(n uint64) uint64,
) (in *DB, best *Node) {
	var from *evictionPool
	for i, shard := range shards {
		pool := &s.pools[shard]
		if pool.by != v.By {
			*pool = evictionPool{by: v.By}
		}
		if i == 0 {
			s.sample(pool, shard, v, nowMs, rnd)
		}
		db, n := pool.best(s, v, nowMs)
		if n == nil { // all candidates were removed or used since
			s.sample(pool, shard, v, nowMs, rnd)
			db, n = pool.best(s, v, nowMs)
		}
		if n != nil && (best == nil || pool.bestScore() > from.bestScore()) {
			in, best, from = db, n, pool
		}
	}
	if best != nil {
		from.n--
	}
	return in, best
}

// sample adds some keys of a shard to its pool.
func (s *Store) sample(pool *evictionPool, shard int, v *Eviction, nowMs int64, rnd func(n uint64) uint64) {
	for id, db := range s.dbs {
		db.sample(shard, v, rnd, func(n *Node) {
			pool.add(candidate{db.score(n, v.By, nowMs), n.Hash(), int32(id)})
		})
	}
}

// flushPending makes UsedEstimate exact for one shard.
func (s *Store) flushPending(shard int) {
	for _, db := range s.dbs {
		if sh := &db.shards[shard]; sh.pending != 0 {
			s.used.Add(sh.pending)
			sh.pending = 0
		}
	}
}

// reclaimDue removes expired keys of one shard, if there are any, and returns how many.
func (s *Store) reclaimDue(shard int, nowMs int64) (removed int) {
	for _, db := range s.dbs {
		sh := &db.shards[shard]
		before := sh.stats.Expired
		for sh.stats.Expired == before && sh.expiring > 0 {
			group, ok := sh.deadlines.Due(nowMs)
			if !ok {
				break
			}
			db.reclaimGroup(sh, group, nowMs)
		}
		removed += int(sh.stats.Expired - before)
	}
	return removed
}

// anyOf returns a random key of two shards, or nil.
func (s *Store) anyOf(shards [2]int, v *Eviction, rnd func(n uint64) uint64) (in *DB, picked *Node) {
	one := *v
	one.Samples = 1
	seen := uint64(0)
	for _, shard := range shards {
		for _, db := range s.dbs {
			sh := &db.shards[shard]
			weight := uint64(sh.keys.Len())
			if v.Volatile {
				weight = uint64(sh.expiring)
			}
			if weight == 0 {
				continue
			}
			if seen += weight; rnd(seen) < weight {
				db.sample(shard, &one, rnd, func(n *Node) { in, picked = db, n })
			}
		}
	}
	return in, picked
}

// sample calls fn with some keys of one shard that v may evict, if there are any.
func (db *DB) sample(shard int, v *Eviction, rnd func(n uint64) uint64, fn func(n *Node)) {
	sh := &db.shards[shard]
	if sh.keys.Len() == 0 {
		return
	}
	if !v.Volatile {
		var buf [16]*Node
		for _, n := range sh.keys.Sample(buf[:0], rnd(1<<63), min(v.Samples, sh.keys.Len())) {
			fn(n)
		}
		return
	}
	left := min(v.Samples, sh.expiring)
	if left == 0 || sh.deadlines.Groups() == 0 {
		return
	}
	groups := sh.deadlines.Groups()
	at := int(rnd(uint64(groups)))
	for visited := 0; left > 0; {
		group, ok := sh.deadlines.Next(at)
		visited += (group-at+groups)%groups + 1
		if !ok || visited > groups {
			return
		}
		sh.keys.Class(uint64(group), uint64(groups), func(n *Node) {
			if n.Value.expires() {
				fn(n)
				left--
			}
		})
		at = (group + 1) % groups
	}
}

// score returns how good a candidate a key is.
func (db *DB) score(n *Node, by EvictBy, nowMs int64) uint64 {
	second := uint32(nowMs / 1000)
	switch by {
	case EvictIdle:
		return uint64(idleSeconds(n.Stamp(), second&dict.MaxStamp))
	case EvictFrequency:
		return lfuMax - uint64(db.store.stamping.Load().lfu.counter(n.Stamp(), second))
	case EvictDeadline:
		atMs, _ := n.Value.ExpireAtMs()
		return math.MaxUint64 - uint64(max(atMs, 0))
	case EvictFullness:
		room := uint64(Denying - fullness(n))
		return room<<32 | uint64(fullnessIdle(n.Stamp(), second))
	}
	return 0
}

// fullness returns how full a key's limit is. Of a key about which no RL command has decided it is unknown.
// Then the size of a sorted set, or the value of a counter, stands for it, on a logarithmic scale below Full:
// the more it counts, the later it is evicted.
func fullness(n *Node) uint8 {
	if f := fullnessOf(n.Stamp()); f > 0 {
		return f
	}
	count := int64(0)
	if set := ZSetOf(n); set != nil {
		count = int64(set.Len())
	} else if s := StringOf(n); s != nil {
		count, _ = s.Int()
	}
	return uint8(min(8*bits.Len64(uint64(max(count, 0))), Full-1))
}

// add adds a candidate, if it is better than one in the pool or there is room.
func (p *evictionPool) add(c candidate) {
	at := 0
	for i := range p.candidates[:p.n] {
		if p.candidates[i].hash == c.hash && p.candidates[i].db == c.db {
			return
		}
		if p.candidates[i].score < c.score {
			at = i + 1
		}
	}
	if p.n == poolSize {
		if at == 0 {
			return
		}
		at--
		copy(p.candidates[:at], p.candidates[1:at+1])
	} else {
		copy(p.candidates[at+1:p.n+1], p.candidates[at:p.n])
		p.n++
	}
	p.candidates[at] = c
}

// best returns the best candidate, after dropping those that are no longer as good as when they were sampled,
// or nil.
func (p *evictionPool) best(s *Store, v *Eviction, nowMs int64) (*DB, *Node) {
	for ; p.n > 0; p.n-- {
		c := &p.candidates[p.n-1]
		db := s.dbs[c.db]
		n := db.shardAt(c.hash).keys.GetHash(c.hash)
		if n != nil && (!v.Volatile || n.Value.expires()) && db.score(n, v.By, nowMs) >= c.score {
			return db, n
		}
	}
	return nil, nil
}

// bestScore returns the score of the best candidate, which must exist.
func (p *evictionPool) bestScore() uint64 { return p.candidates[p.n-1].score }

// evict removes a key to make room.
func (db *DB) evict(n *Node) {
	if g := db.store.recorder(n); g != nil {
		g.Separate()
		g.Evicted(db.id, n.Key())
	}
	db.mark(n)
	db.unlink(db.shardAt(n.Hash()), n)
}
