package store

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/store/dict"
)

// A Snapshot hands out every key of the keyspace, with its value and deadline,
// as they were at one instant: when BeginSnapshot was called. Commands go on
// meanwhile. See docs/adr/0020.
//
// # Structure
//
// Every node carries a mark, and the store has an epoch of two states. To begin
// is to change the epoch: from then on a node whose mark differs from it has yet
// to be handed out. Nodes that are made are born with the epoch's mark; handing
// a node out gives it that mark. Two do so: the walk, which goes through the
// shards bucket by bucket and holds one shard for a bounded number of them; and
// whoever is about to change a node, if the walk has not come to it: DB.Preserve
// for what is under a key, and this package's own methods for what they change.
//
// Invariant: while no snapshot is under way every node has the epoch's mark.
// That is why a walk has to be finished even where nobody wants it any more.
type Snapshot struct {
	store   *Store
	out     func(db int, n *Node)
	aborted atomic.Bool
	late    atomic.Int64
	dbs     [Databases]*DB // by the numbers that they had at the instant
	walks   [NumShards]walk
	pending atomic.Int64 // shards whose walk has not ended
}

// walk is how far the snapshot has come in one shard, which protects it.
type walk struct {
	db      int    // whose part of the shard is walked, and from where on
	cursor  uint64 // 0: from its start
	fresh   uint16 // the databases, one bit each, whose part was emptied: what is there has come since
	flushed []*flushed
	ended   bool
}

// flushed is a part of a shard that was emptied before the walk came through it.
// Nobody else has it.
type flushed struct {
	db     int
	cursor uint64
	keys   dict.Dict[Entry]
}

// BeginSnapshot begins a snapshot, or returns nil where one is under way. It
// requires AllShards, and takes a time that does not depend on what is stored.
//
// out is called once for each key, with the number that its database had at the
// instant: by Step and by what changes keys, so from many goroutines, each of
// which holds the key's shard. It must neither block nor take long, and the node
// is good during the call only. Keys that were overdue at the instant, but not
// reclaimed, are handed out too.
func (s *Store) BeginSnapshot(out func(db int, n *Node)) *Snapshot {
	if s.snapshot.Load() != nil {
		return nil
	}
	sn := &Snapshot{store: s, out: out, dbs: s.dbs}
	for i, db := range s.dbs {
		db.begun = i
	}
	sn.pending.Store(NumShards)
	s.epoch = !s.epoch
	s.snapshot.Store(sn)
	return sn
}

// Snapshot returns the snapshot that is under way, nil where none is.
func (s *Store) Snapshot() *Snapshot { return s.snapshot.Load() }

// Step goes on with the walk in one shard, which must be held: through count
// nodes and buckets, and to the end of the last one's chain. It reports whether
// the shard has more. When no shard has, the snapshot has ended.
func (sn *Snapshot) Step(shard, count int) (more bool) {
	w := &sn.walks[shard]
	for count > 0 && !w.ended {
		count -= sn.bucket(w, shard)
	}
	return !w.ended
}

// bucket hands out one bucket and returns what that counts.
func (sn *Snapshot) bucket(w *walk, shard int) (count int) {
	switch {
	case w.db < Databases && w.fresh&(1<<w.db) != 0:
		w.db++
	case w.db < Databases:
		db := sn.dbs[w.db]
		count = db.scanOut(&db.shards[shard].keys, &w.cursor)
		if w.cursor == 0 {
			w.db++
		}
	case len(w.flushed) > 0:
		f := w.flushed[len(w.flushed)-1]
		count = sn.dbs[f.db].scanOut(&f.keys, &f.cursor)
		if f.cursor == 0 {
			w.flushed = w.flushed[:len(w.flushed)-1]
		}
	default:
		w.flushed, w.ended = nil, true
		if sn.pending.Add(-1) == 0 {
			sn.store.snapshot.Store(nil)
		}
	}
	return count
}

// scanOut hands out the bucket of keys at a cursor, and moves the cursor on.
func (db *DB) scanOut(keys *dict.Dict[Entry], cursor *uint64) (count int) {
	count = 1
	*cursor = keys.Scan(*cursor, func(n *Node) {
		count++
		db.keep(n)
	})
	return count
}

// detach gives the walk what shard i of a database holds, for the database is
// about to forget it.
func (db *DB) detach(i int) {
	sn := db.store.snapshot.Load()
	if sn == nil {
		return
	}
	w := &sn.walks[i]
	keys := &db.shards[i].keys
	if db.begun < w.db || w.fresh&(1<<db.begun) != 0 {
		return // nothing in it has yet to be handed out
	}
	f := &flushed{db: db.begun, keys: *keys}
	if db.begun == w.db {
		f.cursor, w.cursor = w.cursor, 0
	}
	w.fresh |= 1 << db.begun
	w.flushed = append(w.flushed, f)
}

// Abort makes the snapshot hand out nothing more. The walk has to go on to its
// end, or none can begin again.
func (sn *Snapshot) Abort() { sn.aborted.Store(true) }

// Late returns how many keys were changed without having been preserved, so that
// the snapshot has another value of theirs than that of its instant: a mistake of
// a command's row.
func (sn *Snapshot) Late() int64 { return sn.late.Load() }

// Preserve hands out what is under key, if a snapshot is under way and has yet
// to do so. It comes before a change of a value in place; the key's shard must be
// held. While there is no snapshot, calling it is a waste of time.
func (db *DB) Preserve(key []byte) {
	hash := dict.Hash(key)
	if n := db.shardAt(hash).keys.Get(hash, key); n != nil {
		db.keep(n)
	}
}

// keep hands a node out that has yet to be.
func (db *DB) keep(n *Node) {
	if n.Mark() != db.store.epoch {
		db.handOut(n)
	}
}

func (db *DB) handOut(n *Node) {
	n.SetMark(db.store.epoch)
	if sn := db.store.snapshot.Load(); !sn.aborted.Load() {
		sn.out(db.begun, n)
	}
}

// kept is called when a node's value was changed: it should have been preserved.
func (db *DB) kept(n *Node) {
	if n.Mark() != db.store.epoch {
		db.store.snapshot.Load().late.Add(1)
		db.handOut(n)
	}
}
