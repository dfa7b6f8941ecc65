package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/expire"
	"github.com/zlimit/zlimit/store/zset"
)

// Lookup returns key's node, or nil if there is none, counts a hit or a miss, and marks the key as used. It
// removes a key whose deadline is before nowMs, and returns nil.
func (db *DB) Lookup(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n := db.find(sh, hash, key, nowMs)
	if n == nil {
		sh.stats.Misses++
		db.missed(hash, key)
		return nil
	}
	sh.stats.Hits++
	db.markUsed(n, sh.usedAtS)
	return n
}

// Peek is Lookup for commands that only ask about a key: it does not mark the key as used.
func (db *DB) Peek(key []byte, nowMs int64) *Node {
	n := db.Inspect(key, nowMs)
	if n == nil {
		db.missed(dict.Hash(key), key)
	}
	return n
}

// Inspect is Peek for commands that examine how a value is stored: it records no miss.
func (db *DB) Inspect(key []byte, nowMs int64) *Node {
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

// Examine is Inspect for commands that leave no trace: it counts nothing.
func (db *DB) Examine(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	return db.find(db.shardAt(hash), hash, key, nowMs)
}

// Find is Lookup without counting, for commands that look a key up to write it; Redis does not count those
// either.
func (db *DB) Find(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n := db.find(sh, hash, key, nowMs)
	if n != nil {
		db.markUsed(n, sh.usedAtS)
	}
	return n
}

// View is Find for observers: it changes nothing and marks nothing.
func (db *DB) View(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	n := db.shardAt(hash).keys.Get(hash, key)
	if n != nil && n.Value.overdue(nowMs) {
		return nil
	}
	return n
}

func (db *DB) find(sh *shard, hash uint32, key []byte, nowMs int64) *Node {
	sh.usedAtS = uint32(nowMs / 1000)
	n := sh.keys.Get(hash, key)
	if n != nil && n.Value.overdue(nowMs) {
		db.tryExpire(sh, n)
		return nil
	}
	return n
}

// Put sets key to data, without a deadline, and marks its watches. It copies a new key and keeps data as
// Replace does. If data is a collection without elements, the caller fills it and calls Modified.
func (db *DB) Put(key []byte, data Value) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n, created := sh.put(hash, key, data)
	if created {
		db.initNode(sh, n, data)
	} else {
		db.preserve(n)
		Replace(n, data)
		db.Persist(n)
		db.recount(n)
		db.markUsed(n, sh.usedAtS)
	}
	if isEmpty(n) {
		db.mark(n)
		return n
	}
	db.touch(effects.Changed, n)
	return n
}

// Add is Put for a key that does not exist. It marks no watches; call Modified for that.
func (db *DB) Add(key []byte, data Value) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	var n *Node
	if _, ok := data.(*zset.Set); ok {
		n = sh.keys.AddWithRoom(hash, key)
	} else {
		n = sh.keys.Add(hash, key)
	}
	db.initNode(sh, n, data)
	return n
}

// AddZSet is Add with an empty sorted set, which it returns.
func (db *DB) AddZSet(key []byte) (*Node, *zset.Set) {
	n := db.Add(key, (*zset.Set)(nil))
	return n, ZSetOf(n)
}

// put returns the node of key. A new one has room for data that can use it.
func (sh *shard) put(hash uint32, key []byte, data Value) (n *Node, created bool) {
	if _, ok := data.(*zset.Set); ok {
		return sh.keys.PutWithRoom(hash, key)
	}
	return sh.keys.Put(hash, key)
}

func (db *DB) initNode(sh *shard, n *Node, data Value) {
	n.SetMark(db.store.epoch)
	db.stampNew(n, sh.usedAtS)
	Replace(n, data)
	sh.resizeIndex()
	db.chargeNew(sh, n)
	db.countCreated(n)
	db.signalReady(n)
	db.created(n)
}

// Delete removes a node from the database and marks its watches.
func (db *DB) Delete(n *Node) {
	db.touch(effects.Deleted, n)
	db.unlink(db.shardAt(n.Hash()), n)
}

// DeleteForReplace is Delete for a key that the same command creates again, so that blocked clients see the
// new key.
func (db *DB) DeleteForReplace(n *Node) {
	db.touch(effects.Replaced, n)
	db.unlink(db.shardAt(n.Hash()), n)
}

// Modified must be called once after a node's data was changed in place. It removes a collection that has
// become empty, and marks the key's watches.
func (db *DB) Modified(n *Node) {
	if isEmpty(n) {
		if g := db.store.recorder(n); g != nil {
			g.Emptied(db.id, n.Key())
		}
		db.Delete(n)
		return
	}
	db.Touch(n)
}

// Rename moves a node's value and deadline to another key, replacing that key's, and marks the watches of
// both. The node is invalid afterwards.
func (db *DB) Rename(n *Node, key []byte) {
	db.MoveTo(n, db, key)
}

// MoveTo is Rename into another database (or the same).
func (db *DB) MoveTo(n *Node, to *DB, key []byte) {
	expireAtMs, expires := n.Value.ExpireAtMs()
	db.touch(effects.Moved, n)
	db.unlink(db.shardAt(n.Hash()), n)

	hash := dict.Hash(key)
	sh := to.shardAt(hash)
	if old := sh.keys.Get(hash, key); old != nil {
		to.unlink(sh, old)
	}
	leaveNode(n)
	n = n.Renamed(hash, key)
	n.SetMark(to.store.epoch)
	sh.keys.Insert(n)
	sh.resizeIndex()
	to.chargeNew(sh, n)
	to.countCreated(n)
	to.created(n)
	if expires {
		to.ExpireAt(n, expireAtMs)
	}
	to.touch(effects.Changed, n)
	to.signalReady(n)
}

// ExpireAt sets a node's deadline in unix milliseconds. The key exists up to and including that instant. The
// caller marks watches by Modified. A far deadline moves a sorted set, so ZSetOf then returns another.
func (db *DB) ExpireAt(n *Node, atMs int64) {
	if atMs == 0 {
		atMs = -1 // 0 means no deadline; a millisecond earlier is as much in the past
	}
	db.preserve(n)
	sh := db.shardAt(n.Hash())
	old, expires := n.Value.ExpireAtMs()
	if !expires {
		sh.expiring++
	}
	sh.deadlineSumMs += cappedDeadline(atMs) - cappedDeadline(old)
	if isFar(atMs) {
		leaveNode(n)
	}
	if n.Value.setExpireAtMs(atMs) {
		db.recount(n)
	}
	if due := dueMs(atMs); !sh.deadlines.Covers(n.Hash(), due) {
		sh.deadlines.Add(n.Hash(), due)
		sh.resizeIndex()
		db.account(shardIndex(n.Hash()))
	}
}

// Persist removes a node's deadline and reports whether it had one. The caller marks watches by Modified.
func (db *DB) Persist(n *Node) bool {
	if !n.Value.expires() {
		return false
	}
	db.preserve(n)
	db.shardAt(n.Hash()).clearDeadline(n)
	return true
}

// A KeepReason is a reason to keep keys past their deadline in memory.
type KeepReason uint32

// The reasons.
const (
	WhilePaused    KeepReason = 1 << iota // CLIENT PAUSE
	WhileFollowing                        // a replica: its master removes them
)

// KeepExpired sets whether there is a reason to keep keys past their deadline, instead of removing them when
// they are met. Lookups do not find them either way. Any goroutine may call it.
func (s *Store) KeepExpired(why KeepReason, keep bool) {
	if keep {
		s.keepExpired.Or(uint32(why))
	} else {
		s.keepExpired.And(^uint32(why))
	}
}

func (s *Store) keepsExpired() bool { return s.keepExpired.Load() != 0 }

// tryExpire removes a node that is past its deadline, unless there is a reason to keep it.
func (db *DB) tryExpire(sh *shard, n *Node) {
	if !db.store.keepsExpired() {
		db.expire(sh, n)
	}
}

// expire removes a node that is past its deadline.
func (db *DB) expire(sh *shard, n *Node) {
	sh.stats.Expired++
	db.store.expired[shardIndex(n.Hash())].Add(1)
	if g := db.store.recorder(n); g != nil {
		g.Expired(db.id, n.Key())
	}
	db.mark(n)
	db.unlink(sh, n)
}

// unlink removes a node from its shard without marking or recording anything.
func (db *DB) unlink(sh *shard, n *Node) {
	db.preserve(n)
	if n.Value.expires() {
		sh.clearDeadline(n)
	}
	sh.keys.Unlink(n)
	db.forgetUnfinished(n)
	db.countUnlinked(n)
	sh.values -= n.Value.charge().bytes()
	db.account(shardIndex(n.Hash()))
}

// chargeNew adds the charge of a new node to its shard.
func (db *DB) chargeNew(sh *shard, n *Node) {
	db.noteUnfinished(n)
	c := chargeFor(ValueBytes(n))
	n.Value.setCharge(c)
	sh.values += c.bytes()
	db.account(shardIndex(n.Hash()))
}

// clearDeadline removes a node's deadline; it must have one.
func (sh *shard) clearDeadline(n *Node) {
	atMs, _ := n.Value.ExpireAtMs()
	sh.deadlineSumMs -= cappedDeadline(atMs)
	n.Value.setExpireAtMs(0)
	sh.expiring--
}

// resizeIndex resizes the index of deadlines to the number of keys.
func (sh *shard) resizeIndex() {
	if sh.expiring == 0 {
		sh.deadlines.Resize(0)
	} else {
		sh.deadlines.Resize(sh.keys.Len())
	}
}

// Reclaim removes expired keys from the given shards and returns how many keys it examined. Once these are
// limit keys it stops before the next group and reports that there are more.
func (s *Store) Reclaim(shards ShardSet, nowMs int64, limit int) (examined int, more bool) {
	if s.keepsExpired() {
		return 0, false
	}
	for _, db := range s.dbs {
		for rest := uint64(shards); rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			sh := &db.shards[i]
			sh.resizeIndex()
			db.account(i)
			for {
				group, ok := sh.deadlines.Due(nowMs)
				if !ok {
					break
				}
				if examined >= limit {
					return examined, true
				}
				examined += db.reclaimGroup(sh, group, nowMs)
			}
		}
	}
	return examined, false
}

// reclaimGroup removes the expired keys of one group of a shard's deadlines, and returns how many keys it
// examined.
func (db *DB) reclaimGroup(sh *shard, group int, nowMs int64) (examined int) {
	next := int64(expire.Never)
	examined = 1 // the group itself
	sh.keys.Class(uint64(group), uint64(sh.deadlines.Groups()), func(n *Node) {
		examined++
		switch {
		case n.Value.overdue(nowMs) && !db.store.keepsExpired():
			if g := db.store.recorder(n); g != nil {
				g.Separate()
			}
			db.expire(sh, n)
		case n.Value.expires():
			atMs, _ := n.Value.ExpireAtMs()
			next = min(next, dueMs(atMs))
		}
	})
	sh.deadlines.SetBound(group, next)
	return examined
}
