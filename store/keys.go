package store

import (
	"math"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/expire"
)

// Lookup returns key's node, nil where there is none, and counts a hit or a
// miss. A key whose deadline lies before nowMs is removed and not found.
func (db *DB) Lookup(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n := db.find(sh, hash, key, nowMs)
	if n == nil {
		sh.stats.Misses++
	} else {
		sh.stats.Hits++
	}
	return n
}

// Find is Lookup without counting: for commands that look at a key to write
// it, or only ask about it, which Redis does not count either.
func (db *DB) Find(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	return db.find(db.shardAt(hash), hash, key, nowMs)
}

func (db *DB) find(sh *shard, hash uint32, key []byte, nowMs int64) *Node {
	n := sh.keys.Get(hash, key)
	if n != nil && n.Value.overdue(nowMs) {
		db.expired(sh, n)
		return nil
	}
	return n
}

// Put makes key hold data, with no deadline, whatever it held before, and
// marks its watchers. The key is copied where it is new; data is kept.
func (db *DB) Put(key []byte, data any) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n, created := sh.keys.Put(hash, key)
	if created {
		n.SetMark(db.store.epoch)
		Replace(n, data)
		sh.fit()
		db.appeared(n)
	} else {
		db.keep(n)
		Replace(n, data)
		db.Persist(n)
	}
	db.touch(n)
	return n
}

// Delete removes a node that is in the database and marks its watchers.
func (db *DB) Delete(n *Node) {
	db.touch(n)
	db.unlink(db.shardAt(n.Hash()), n)
}

// Modified is called once after a node's data was changed in place: it removes
// a collection that has become empty and marks the key's watchers.
func (db *DB) Modified(n *Node) {
	if emptied(n) {
		db.Delete(n)
		return
	}
	db.Touch(n)
}

// Rename moves a node's value and deadline to another key, replacing what was
// there, and marks the watchers of both. The node is of no use afterwards.
func (db *DB) Rename(n *Node, key []byte) {
	db.MoveTo(n, db, key)
}

// MoveTo is Rename into another database (or the same).
func (db *DB) MoveTo(n *Node, to *DB, key []byte) {
	expireAtMs := n.Value.expireAtMs
	db.touch(n)
	db.unlink(db.shardAt(n.Hash()), n)

	hash := dict.Hash(key)
	sh := to.shardAt(hash)
	if old := sh.keys.Get(hash, key); old != nil {
		to.unlink(sh, old)
	}
	n = n.Renamed(hash, key)
	n.SetMark(to.store.epoch)
	sh.keys.Insert(n)
	sh.fit()
	if expireAtMs != 0 {
		to.ExpireAt(n, expireAtMs)
	}
	to.touch(n)
	to.appeared(n)
}

// ExpireAt sets a node's deadline in unix milliseconds: the key is gone for
// every instant after it. The caller marks watchers by Modified.
func (db *DB) ExpireAt(n *Node, atMs int64) {
	if atMs == 0 {
		atMs = -1 // 0 means no deadline; the epoch is as much past as the millisecond before
	}
	db.keep(n)
	sh := db.shardAt(n.Hash())
	if n.Value.expireAtMs == 0 {
		sh.expiring++
	}
	n.Value.expireAtMs = atMs
	if due := dueMs(atMs); !sh.deadlines.Covers(n.Hash(), due) {
		sh.deadlines.File(n.Hash(), due)
		sh.fit()
	}
}

// dueMs is the first instant at which a key with this deadline is gone.
func dueMs(atMs int64) int64 {
	if atMs == math.MaxInt64 {
		return atMs
	}
	return atMs + 1
}

// Persist takes a node's deadline away and reports whether it had one. The
// caller marks watchers by Modified.
func (db *DB) Persist(n *Node) bool {
	if n.Value.expireAtMs == 0 {
		return false
	}
	db.keep(n)
	db.shardAt(n.Hash()).forget(n)
	return true
}

// ExpireAtMs returns the deadline in unix milliseconds; ok is false where
// there is none.
func (e *Entry) ExpireAtMs() (atMs int64, ok bool) {
	return e.expireAtMs, e.expireAtMs != 0
}

// overdue reports whether the entry is gone at nowMs. At its very deadline a
// key still lives, with a TTL of 0, as in Redis.
func (e *Entry) overdue(nowMs int64) bool {
	return e.expireAtMs != 0 && nowMs > e.expireAtMs
}

func (db *DB) expired(sh *shard, n *Node) {
	sh.stats.Expired++
	if g := db.store.recorder(n); g != nil {
		g.Expired(db.id, n.Key())
		g.Named(db.id, n.Key(), effects.Expired)
	}
	db.mark(n)
	db.unlink(sh, n)
}

// unlink takes a node out of its shard without telling anybody.
func (db *DB) unlink(sh *shard, n *Node) {
	db.keep(n)
	if n.Value.expireAtMs != 0 {
		sh.forget(n)
	}
	sh.keys.Unlink(n)
}

// forget takes a node's deadline away; it must have one.
func (sh *shard) forget(n *Node) {
	n.Value.expireAtMs = 0
	sh.expiring--
}

// fit tells the index of deadlines how many keys there are.
func (sh *shard) fit() {
	if sh.expiring == 0 {
		sh.deadlines.Fit(0)
	} else {
		sh.deadlines.Fit(sh.keys.Len())
	}
}

// Reclaim removes keys whose deadline has passed from the given shards, which
// must be held, and returns how many it examined. Where these are limit keys (and
// the rest of the few that it examines together) it stops, and reports that there
// may be more.
func (s *Store) Reclaim(shards ShardSet, nowMs int64, limit int) (examined int, more bool) {
	for _, db := range s.dbs {
		for i := range db.shards {
			if shards&(1<<i) == 0 {
				continue
			}
			sh := &db.shards[i]
			sh.fit()
			for {
				group, ok := sh.deadlines.Due(nowMs)
				if !ok {
					break
				}
				if examined >= limit {
					return examined, true
				}
				examined += db.reclaim(sh, group, nowMs)
			}
		}
	}
	return examined, false
}

// reclaim removes the keys of one group of a shard's deadlines that are due, and
// returns how many keys it examined.
func (db *DB) reclaim(sh *shard, group int, nowMs int64) (examined int) {
	next := int64(expire.Never)
	examined = 1 // the group itself
	sh.keys.Class(uint64(group), uint64(sh.deadlines.Groups()), func(n *Node) {
		examined++
		switch {
		case n.Value.overdue(nowMs):
			if g := db.store.recorder(n); g != nil {
				g.Cut()
			}
			db.expired(sh, n)
		case n.Value.expireAtMs != 0:
			next = min(next, dueMs(n.Value.expireAtMs))
		}
	})
	sh.deadlines.Settle(group, next)
	return examined
}
