package store

import (
	"iter"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/expire"
)

// Len returns the number of keys, due but not yet reclaimed ones included, as
// DBSIZE counts. It requires AllShards, like everything in this file.
func (db *DB) Len() int {
	n := 0
	for i := range db.shards {
		n += db.shards[i].keys.Len()
	}
	return n
}

// ExpiringLen returns the number of keys that have a deadline.
func (db *DB) ExpiringLen() int {
	n := 0
	for i := range db.shards {
		n += db.shards[i].expiring
	}
	return n
}

// All iterates over the keys that are alive at nowMs, in no order.
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

// Scan calls fn for the keys of a few buckets, until it has been called for at
// least count keys or the end is reached, and returns the next cursor; a scan
// starts and ends at 0. What exists from start to end is seen at least once.
//
// The low bits of a cursor are the shard, the rest is that shard's own cursor.
func (db *DB) Scan(cursor uint64, count int, nowMs int64, fn func(*Node)) uint64 {
	i, inner := cursor%NumShards, cursor/NumShards
	seen := 0
	count = min(count, 1<<32)
	// Empty buckets cost steps too: a sparse table must not make one call walk
	// the whole keyspace.
	for steps := 0; seen < count && steps < 10*count; {
		sh := &db.shards[i]
		if sh.keys.Len() == 0 {
			inner = 0
		} else {
			steps++
			inner = sh.keys.Scan(inner, func(n *Node) {
				seen++
				if n.Value.overdue(nowMs) {
					db.expired(sh, n)
					return
				}
				fn(n)
			})
		}
		if inner == 0 {
			if i++; i == NumShards {
				return 0
			}
		}
	}
	return inner*NumShards + i
}

// Random returns one of the keys alive at nowMs, each about as likely as any
// other, nil where there is none. rnd returns a uniform number below n.
func (db *DB) Random(nowMs int64, rnd func(n uint64) uint64) *Node {
	for total := db.Len(); total > 0; total = db.Len() {
		if db.store.kept.Load() {
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
			db.expired(sh, n)
			break
		}
	}
	return nil
}

// randomKept is Random where keys that are due stay: it may not draw until it
// meets another, which Redis 7.0 does for ever where there is none.
func (db *DB) randomKept(nowMs int64, rnd func(n uint64) uint64) (picked *Node) {
	seen := uint64(0)
	for n := range db.All(nowMs) {
		if seen++; rnd(seen) == 0 {
			picked = n
		}
	}
	return picked
}

// Flush removes every key and marks the watchers of those that existed.
func (db *DB) Flush() {
	db.store.recordDB(effects.Flushed, db.id, db.id)
	db.store.touchAll(db.id, db, nil)
	for i := range db.shards {
		sh := &db.shards[i]
		db.detach(i)
		sh.keys, sh.deadlines = dict.Dict[Entry]{}, expire.Index{}
		sh.expiring, sh.endsMs, sh.values = 0, 0, 0
		db.account(uint32(i))
	}
}

// ShardLen returns the number of keys that one shard holds, in whatever database,
// due ones included. It requires that shard only.
func (s *Store) ShardLen(shard int) int {
	n := 0
	for _, db := range s.dbs {
		n += db.shards[shard].keys.Len()
	}
	return n
}

// ScanShard calls fn for the keys of a few buckets of one shard, in whatever
// database, that are alive at nowMs, about count of them, and returns the next
// cursor; a scan starts and ends at 0. It requires that shard only.
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
