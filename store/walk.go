package store

import (
	"iter"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/expire"
)

// Len returns the number of keys, expired ones that were not reclaimed included, as DBSIZE does. Methods of
// DB in this file require AllShards.
func (db *DB) Len() int {
	n := 0
	for i := range db.shards {
		n += db.shards[i].keys.Len()
	}
	return n
}

// ExpiringLen returns the number of keys with a deadline.
func (db *DB) ExpiringLen() int {
	n := 0
	for i := range db.shards {
		n += db.shards[i].expiring
	}
	return n
}

// All iterates over the keys that exist at nowMs, in no particular order.
func (db *DB) All(nowMs int64) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for i := range db.shards {
			for n := range db.shards[i].keys.All() {
				if !n.Value.overdue(nowMs) && !yield(n) {
					return
				}
			}
		}
	}
}

// AllInShard is like All for the keys of one shard. It requires that shard only.
func (db *DB) AllInShard(shard int, nowMs int64) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for n := range db.shards[shard].keys.All() {
			if !n.Value.overdue(nowMs) && !yield(n) {
				return
			}
		}
	}
}

// Scan calls fn for the keys of a few buckets, until it has seen at least count keys or the end, and returns
// the next cursor; a scan starts and ends at 0. Keys that exist during the whole scan are seen at least once.
//
// The low bits of a cursor are the shard; the rest is the cursor within the shard.
func (db *DB) Scan(cursor uint64, count int, nowMs int64, fn func(*Node)) uint64 {
	return db.scan(cursor, count, nowMs, false, fn)
}

// ScanOne is like Scan, but ends at the end of a shard. It requires the shard of the cursor only,
// which is the cursor modulo NumShards.
func (db *DB) ScanOne(cursor uint64, count int, nowMs int64, fn func(*Node)) uint64 {
	return db.scan(cursor, count, nowMs, true, fn)
}

func (db *DB) scan(cursor uint64, count int, nowMs int64, one bool, fn func(*Node)) uint64 {
	i, inner := cursor%NumShards, cursor/NumShards
	seen := 0
	count = min(count, 1<<32)
	// Empty buckets count too: with a sparse table, one call must not walk the whole keyspace.
	for steps := 0; seen < count && steps < 10*count; {
		sh := &db.shards[i]
		if sh.keys.Len() == 0 {
			inner = 0
		} else {
			steps++
			inner = sh.keys.Scan(inner, func(n *Node) {
				seen++
				if n.Value.overdue(nowMs) {
					db.tryExpire(sh, n)
					return
				}
				fn(n)
			})
		}
		if inner == 0 {
			if i++; i == NumShards {
				return 0
			}
			if one {
				break
			}
		}
	}
	return inner*NumShards + i
}

// Random returns one of the keys that exist at nowMs, each about equally likely, or nil if there is none. rnd
// returns a uniform number below n.
func (db *DB) Random(nowMs int64, rnd func(n uint64) uint64) *Node {
	for total := db.Len(); total > 0; total = db.Len() {
		if db.store.keepsExpired() {
			return db.randomKept(nowMs, rnd)
		}
		at := int(rnd(uint64(total)))
		for i := range db.shards {
			sh := &db.shards[i]
			if at >= sh.keys.Len() {
				at -= sh.keys.Len()
				continue
			}
			n := sh.keys.Random(rnd)
			if !n.Value.overdue(nowMs) {
				return n
			}
			db.tryExpire(sh, n)
			break
		}
	}
	return nil
}

// randomKept is Random while expired keys are kept. It does not draw until it meets a key that has not
// expired: Redis 7.0 loops forever if there is none.
func (db *DB) randomKept(nowMs int64, rnd func(n uint64) uint64) (picked *Node) {
	seen := uint64(0)
	for n := range db.All(nowMs) {
		if seen++; rnd(seen) == 0 {
			picked = n
		}
	}
	return picked
}

// Flush removes every key and marks the watches of those that existed.
func (db *DB) Flush() {
	db.store.recordDB(effects.Flushed, db.id, db.id)
	db.store.touchAll(db.id, db, nil, 0)
	db.countFlushed()
	for i := range db.shards {
		sh := &db.shards[i]
		db.detach(i)
		db.flushUnfinished(i)
		sh.keys, sh.deadlines = dict.Dict[Entry]{}, expire.Index{}
		sh.expiring, sh.deadlineSumMs, sh.values = 0, 0, 0
		db.account(i)
	}
}

// ShardLen returns the number of keys in one shard of all databases, expired ones included. It requires that
// shard only.
func (s *Store) ShardLen(shard int) int {
	n := 0
	for _, db := range s.dbs {
		n += db.shards[shard].keys.Len()
	}
	return n
}

// ScanShard calls fn for the keys of a few buckets of one shard, in all databases, that exist at nowMs, about
// count of them, and returns the next cursor; a scan starts and ends at 0. It requires that shard only.
func (s *Store) ScanShard(shard int, cursor uint64, count int, nowMs int64, fn func(*Node)) uint64 {
	i, inner := cursor%Databases, cursor/Databases
	for steps := 0; steps < count; steps++ {
		if sh := &s.dbs[i].shards[shard]; sh.keys.Len() == 0 {
			inner = 0
		} else {
			inner = sh.keys.Scan(inner, func(n *Node) {
				steps++
				if !n.Value.overdue(nowMs) {
					fn(n)
				}
			})
		}
		if inner == 0 {
			if i++; i == Databases {
				return 0
			}
		}
	}
	return inner*Databases + i
}
