package store

import (
	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/expire"
)

// Lookup returns key's node, nil where there is none, counts a hit or a miss, and
// notes that the key was used. A key whose deadline lies before nowMs is removed
// and not found.
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
	db.used(n, sh.clock)
	return n
}

// Peek is Lookup for commands that only ask about a key, which is no use of it.
func (db *DB) Peek(key []byte, nowMs int64) *Node {
	n := db.Inspect(key, nowMs)
	if n == nil {
		db.missed(dict.Hash(key), key)
	}
	return n
}

// Inspect is Peek for commands that look at how a value is stored: nobody is told
// of a key that is not there.
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

// Find is Lookup without counting: for commands that look at a key to write it,
// which Redis does not count either.
func (db *DB) Find(key []byte, nowMs int64) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n := db.find(sh, hash, key, nowMs)
	if n != nil {
		db.used(n, sh.clock)
	}
	return n
}

func (db *DB) find(sh *shard, hash uint32, key []byte, nowMs int64) *Node {
	sh.clock = UseClock(nowMs)
	n := sh.keys.Get(hash, key)
	if n != nil && n.Value.overdue(nowMs) {
		db.expired(sh, n)
		return nil
	}
	return n
}

// Put makes key hold data, with no deadline, whatever it held before, and
// marks its watchers. The key is copied where it is new; data is kept. Where that
// is a collection without elements, the caller fills it and calls Modified.
func (db *DB) Put(key []byte, data any) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n, created := sh.keys.Put(hash, key)
	if created {
		db.filled(sh, n, data)
	} else {
		db.keep(n)
		Replace(n, data)
		db.Persist(n)
		db.recount(n)
	}
	db.used(n, sh.clock)
	if emptied(n) {
		db.mark(n)
		return n
	}
	db.touch(effects.Changed, n)
	return n
}

// Add is Put for a key that is not there, and marks nobody: Modified follows where
// anybody is to know.
func (db *DB) Add(key []byte, data any) *Node {
	hash := dict.Hash(key)
	sh := db.shardAt(hash)
	n, _ := sh.keys.Put(hash, key)
	db.filled(sh, n, data)
	db.used(n, sh.clock)
	return n
}

// filled gives a node that was just made its value.
func (db *DB) filled(sh *shard, n *Node, data any) {
	n.SetMark(db.store.epoch)
	Replace(n, data)
	sh.fit()
	db.added(sh, n)
	db.appeared(n)
	db.created(n)
}

// Delete removes a node that is in the database and marks its watchers.
func (db *DB) Delete(n *Node) {
	db.touch(effects.Deleted, n)
	db.unlink(db.shardAt(n.Hash()), n)
}

// MakeRoom is Delete for a key that is put anew by the same command, so that those
// who wait for it see it come.
func (db *DB) MakeRoom(n *Node) {
	db.touch(effects.Replaced, n)
	db.unlink(db.shardAt(n.Hash()), n)
}

// Modified is called once after a node's data was changed in place: it removes
// a collection that has become empty and marks the key's watchers.
func (db *DB) Modified(n *Node) {
	if emptied(n) {
		if g := db.store.recorder(n); g != nil {
			g.Emptied(db.id, n.Key())
		}
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
	expireAtMs, expires := n.Value.ExpireAtMs()
	db.touch(effects.Moved, n)
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
	to.added(sh, n)
	to.created(n)
	if expires {
		to.ExpireAt(n, expireAtMs)
	}
	to.touch(effects.Changed, n)
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
	old, expires := n.Value.ExpireAtMs()
	if !expires {
		sh.expiring++
	}
	sh.endsMs += endMs(atMs) - endMs(old)
	if n.Value.setExpireAtMs(atMs) {
		db.recount(n)
	}
	if due := dueMs(atMs); !sh.deadlines.Covers(n.Hash(), due) {
		sh.deadlines.File(n.Hash(), due)
		sh.fit()
		db.account(n.Hash() >> (hashBits - shardBits))
	}
}

// Persist takes a node's deadline away and reports whether it had one. The
// caller marks watchers by Modified.
func (db *DB) Persist(n *Node) bool {
	if !n.Value.expires() {
		return false
	}
	db.keep(n)
	db.shardAt(n.Hash()).forget(n)
	return true
}

// KeepExpired says whether keys whose deadline has passed stay where they are
// instead of being removed when they are met. Nobody finds them either way. Any
// goroutine may call it.
func (s *Store) KeepExpired(keep bool) { s.kept.Store(keep) }

// expired removes a node that was met after its deadline, unless it is to stay.
func (db *DB) expired(sh *shard, n *Node) {
	if !db.store.kept.Load() {
		db.reap(sh, n)
	}
}

// reap removes a node whose deadline has passed.
func (db *DB) reap(sh *shard, n *Node) {
	sh.stats.Expired++
	if g := db.store.recorder(n); g != nil {
		g.Expired(db.id, n.Key())
	}
	db.mark(n)
	db.unlink(sh, n)
}

// unlink takes a node out of its shard without telling anybody.
func (db *DB) unlink(sh *shard, n *Node) {
	db.keep(n)
	if n.Value.expires() {
		sh.forget(n)
	}
	sh.keys.Unlink(n)
	sh.values -= n.Value.charge().bytes()
	db.account(n.Hash() >> (hashBits - shardBits))
}

// added counts a node that has come into its shard.
func (db *DB) added(sh *shard, n *Node) {
	c := chargeFor(ValueBytes(n))
	n.Value.setCharge(c)
	sh.values += c.bytes()
	db.account(n.Hash() >> (hashBits - shardBits))
}

// forget takes a node's deadline away; it must have one.
func (sh *shard) forget(n *Node) {
	atMs, _ := n.Value.ExpireAtMs()
	sh.endsMs -= endMs(atMs)
	n.Value.setExpireAtMs(0)
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
	if s.kept.Load() {
		return 0, false
	}
	for _, db := range s.dbs {
		for i := range db.shards {
			if shards&(1<<i) == 0 {
				continue
			}
			sh := &db.shards[i]
			sh.fit()
			db.account(uint32(i))
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
		case n.Value.overdue(nowMs) && !db.store.kept.Load():
			if g := db.store.recorder(n); g != nil {
				g.Cut()
			}
			db.reap(sh, n)
		case n.Value.expires():
			atMs, _ := n.Value.ExpireAtMs()
			next = min(next, dueMs(atMs))
		}
	})
	sh.deadlines.Settle(group, next)
	return examined
}
